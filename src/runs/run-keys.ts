import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { ClaimsRepository } from './claims.repository.js';
import { lockedRun } from './locked-run.js';
import { RunsRepository } from './runs.repository.js';

/** Lets what a run was the answer to be asked once more. */
@Injectable()
export class RunKeys {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly runs: RunsRepository,
  ) {}

  /**
   * Frees the run's own key and those of the wakes that were merged in it: all of them are redeliveries of what it
   * answers. The run stays as it is otherwise. Does nothing for one without keys.
   *
   * @throws NotFoundError
   */
  async free(id: string): Promise<void> {
    await this.transactions.run(async () => {
      // The run first, as by whoever merges in it.
      await lockedRun(this.claims, id);
      await this.runs.freeKeys(id);
    });
  }
}
