import { Injectable, Logger } from '@nestjs/common';
import { toIso } from '../clock/iso.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../events/event-log.js';
import type { RetryPlan } from './retry-policy.js';
import type { Run } from './run.schema.js';
import { RunInterrupts } from './run-interrupts.js';
import { subjectOf } from './run-subject.js';
import { RunSignal } from './run-signal.js';
import { RunTelemetry } from './run-telemetry.js';

/** Tells the world what happens to runs: events with the change, counters and signals once it has committed. */
@Injectable()
export class RunNews {
  private readonly logger = new Logger(RunNews.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly events: EventLog,
    private readonly telemetry: RunTelemetry,
    private readonly signal: RunSignal,
    private readonly interrupts: RunInterrupts,
  ) {}

  async claimed(run: Run, workerId: string, claimedAt: number): Promise<void> {
    await this.tell('run.claimed', run, { workerId });
    this.transactions.afterCommit(() => {
      this.telemetry.claimed(claimedAt - run.requestedAt);
    });
  }

  async ended(
    run: Run,
    status: 'finished' | 'failed' | 'cancelled',
    data: Record<string, string> = {},
  ): Promise<void> {
    await this.tell(`run.${status}`, run, data);
    this.transactions.afterCommit(() => {
      this.telemetry.ended(status);
    });
  }

  /** The run will be tried again. */
  async retryScheduled(run: Run, { at, cause }: RetryPlan): Promise<void> {
    await this.tell('run.retry_scheduled', run, { scheduledRetryAt: toIso(at), cause });
    this.transactions.afterCommit(() => {
      this.telemetry.retried(cause);
    });
  }

  /** A person has had a run that had ended tried again. */
  retriedByHand(): void {
    this.transactions.afterCommit(() => {
      this.telemetry.retried('by_hand');
    });
  }

  /** A claimed run was taken back, because its worker was not heard of in time. */
  leaseLost(outcome: 'queued' | 'failed'): void {
    this.transactions.afterCommit(() => {
      this.telemetry.leaseLost(outcome);
    });
  }

  /** The run's agent may have another one waiting. */
  freed(): void {
    this.transactions.afterCommit(() => {
      this.signal.send();
    });
  }

  /** Whoever holds the run should ask how it stands. */
  changedUnderItsHolder(run: Run): void {
    this.transactions.afterCommit(() => {
      this.interrupts.hurry(run.id);
    });
  }

  /** A claim came back with nothing because nobody could say who is paused. */
  claimDeferred(error: unknown): void {
    this.logger.warn(
      { error: String(error) },
      'a claim was put off: whether a workspace is paused cannot be read',
    );
    this.telemetry.claimDeferred();
  }

  reportRefused(): void {
    this.telemetry.claimLost();
  }

  private tell(
    type: `run.${'claimed' | 'finished' | 'failed' | 'cancelled' | 'retry_scheduled'}`,
    run: Run,
    data: Record<string, string>,
  ) {
    return this.events.append({ type, workspaceId: run.workspaceId, subject: subjectOf(run), data });
  }
}
