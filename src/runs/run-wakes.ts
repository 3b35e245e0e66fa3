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
   * that was, the entry with the run's own id is the wake that made it, whose key is on the run's row.
   */
  async of(run: Run): Promise<readonly ClaimedWake[]> {
    const merged = await this.runs.wakesOf(run.id, WAKES_LIMIT);
    if (merged.length === 0) return [run];
    return merged.map((wake) =>
      wake.id === run.id ? { ...wake, idempotencyKey: run.idempotencyKey } : wake,
    );
  }
}
