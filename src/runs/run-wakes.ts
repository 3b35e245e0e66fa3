import { Injectable } from '@nestjs/common';
import { type ClaimedWake, WAKES_LIMIT } from './claim.js';
import type { Run } from './run.schema.js';
import { RunsRepository } from './runs.repository.js';

/** Tells which wakes a run answers. */
@Injectable()
export class RunWakes {
  constructor(private readonly runs: RunsRepository) {}

  /**
   * Every wake that the run answers, oldest first, at most 100. A run that was never merged is its own only wake; of one
   * that was, the first entry of the ledger is the wake that made it, whose key is on the run's row.
   */
  async of(run: Run): Promise<readonly ClaimedWake[]> {
    const [first, ...merged] = await this.runs.wakesOf(run.id, WAKES_LIMIT);
    if (first === undefined) return [run];
    return [{ ...first, idempotencyKey: run.idempotencyKey }, ...merged];
  }
}
