import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import type { SessionPair } from '../sessions/session.errors.js';
import { ClaimsRepository } from './claims.repository.js';
import { RetriesRepository } from './retries.repository.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { Staleness } from './staleness.js';
import { isHeardByItself } from './wake-reason.js';

/** What becomes of a run that waits to be tried again, beside being claimed when its time has come. */
@Injectable()
export class WaitingRetries {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly retries: RetriesRepository,
    private readonly staleness: Staleness,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  /** Cancels what waits about a task that the agent has no more. */
  async dropOf(pair: SessionPair): Promise<void> {
    await this.transactions.run(async () => {
      for (const run of await this.claims.lockRetriesOf(pair))
        await this.cancel(run, 'task_assignee_changed');
    });
  }

  /** Cancels what waits about the task and would be cancelled when its turn came, for the same reason. */
  async dropStale(workspaceId: string, taskId: string): Promise<void> {
    await this.transactions.run(async () => {
      for (const run of await this.retries.lockAbout(workspaceId, taskId)) {
        const reason = await this.staleness.reason(run);
        if (reason !== null) await this.cancel(run, reason);
      }
    });
  }

  /**
   * Cancels, in the transaction in which a run finishes, what waits for the same agent, task and reason and is older:
   * its work has been done. Comments are each heard by themselves, and runs about no task may have nothing in common.
   */
  async supersedeBy(finished: Run): Promise<void> {
    if (finished.taskId === null || finished.taskId === '' || isHeardByItself(finished.reason)) return;
    for (const run of await this.retries.lockOlderThan(finished)) await this.cancel(run, 'superseded');
  }

  /** Lets a locked run that waits be due now, because a person asks for it. */
  async hurry(run: Run): Promise<Run> {
    const scheduledRetryAt = Math.min(run.scheduledRetryAt ?? 0, this.clock.now());
    await this.claims.change(run.id, 'queued', { scheduledRetryAt });
    await this.news.retryScheduled(run, { at: scheduledRetryAt, cause: 'by_hand' });
    this.news.freed();
    return { ...run, scheduledRetryAt };
  }

  private async cancel(run: Run, reason: string): Promise<void> {
    const finishedAt = this.clock.now();
    await this.claims.change(run.id, 'queued', { status: 'cancelled', cancelReason: reason, finishedAt });
    await this.news.ended(run, 'cancelled', { reason });
  }
}
