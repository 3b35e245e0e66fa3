import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import type { Run } from './run.schema.js';

/**
 * Hears of a run that has failed for good, in the transaction in which it does, and writes down there what is owed for
 * it. The run is locked: nothing may be decided before the commit, and what is answered comes after it.
 */
export type FailureObserver = (run: Run) => Promise<() => Promise<unknown>>;

/** Where a layer above registers to hear of runs that nobody will try again. */
@Injectable()
export class FinalFailures implements OnModuleDestroy {
  private readonly logger = new Logger(FinalFailures.name);
  private readonly following = new Map<string, Promise<void>>();
  private observer: FailureObserver | null = null;

  constructor(private readonly transactions: Transactions) {}

  /** There is one observer: who registers later takes the place of who did before. */
  observe(observer: FailureObserver): void {
    this.observer = observer;
  }

  /** Tells of the failure in the open transaction. What the observer throws undoes it. */
  async tell(run: Run): Promise<void> {
    const follow = await this.observer?.(run);
    if (follow === undefined) return;
    this.transactions.afterCommit(() => {
      const done = this.followed(follow).finally(() => this.following.delete(run.id));
      this.following.set(run.id, done);
    });
  }

  /** Resolves when what followed the failure of that run is done, at once when nothing does. */
  async settled(runId: string): Promise<void> {
    await this.following.get(runId);
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.following.values());
  }

  /** The failure stands whatever becomes of what follows it, which is written down. */
  private async followed(follow: () => Promise<unknown>): Promise<void> {
    try {
      await follow();
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'what follows a failed run is left to the sweep');
    }
  }
}
