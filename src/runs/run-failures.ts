import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { storable } from '../database/storable.js';
import { Randomness } from '../random/randomness.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import { FinalFailures } from './final-failures.js';
import { isTooOld, planRetry } from './retry-policy.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { Staleness } from './staleness.js';

/** What a worker says of a turn that did not end well. */
export interface TurnFailure {
  readonly error: string;
  /** False when trying again is of no use. Default: true. */
  readonly retryable?: boolean | undefined;
}

/** The fields of a run that waits for its next start: the conversation is opened anew then. */
export const WAITING = {
  status: 'queued',
  claimedAt: null,
  finishedAt: null,
  sessionId: null,
} as const satisfies Partial<Run>;

/** What a failed turn makes of its run, in the open transaction, which has the run locked. */
@Injectable()
export class RunFailures {
  constructor(
    private readonly workspaces: WorkspacesRepository,
    private readonly staleness: Staleness,
    private readonly final: FinalFailures,
    private readonly news: RunNews,
    private readonly randomness: Randomness,
    private readonly clock: Clock,
  ) {}

  /**
   * It is tried again later, as often as the policy has it, unless nobody waits for it any more. A failure that its
   * worker calls final also keeps the task from being started again unasked.
   */
  async after(run: Run, { error, retryable = true }: TurnFailure): Promise<Partial<Run>> {
    const now = this.clock.now();
    const errorMessage = storable(error);
    const { retryCount } = run;
    const plan = retryable ? planRetry({ retryCount, error }, now, this.randomness.fraction()) : null;
    if (plan === null)
      return { status: 'failed', finishedAt: now, errorMessage, isConclusive: retryable ? null : true };
    const cancelReason = await this.overtakenBy(run, now);
    if (cancelReason !== null) return { status: 'cancelled', cancelReason, finishedAt: now, errorMessage };
    await this.news.retryScheduled(run, plan);
    return { ...WAITING, retryCount: retryCount + 1, scheduledRetryAt: plan.at, errorMessage };
  }

  /**
   * What the loss of its worker makes of a run: it waits for its next start, or has failed when it was lost too often.
   * Turns that failed by themselves were not lost.
   */
  afterLoss({ attempt, retryCount }: Run, lostLimit: number): Partial<Run> {
    if (attempt - retryCount < lostLimit) return WAITING;
    return { status: 'failed', errorMessage: 'worker_lost', finishedAt: this.clock.now() };
  }

  /** Tells of a run that has failed for good. */
  async conclude(run: Run, data: Record<string, string> = {}): Promise<void> {
    await this.news.ended(run, 'failed', data);
    await this.final.tell(run);
  }

  /** Resolves when what a failure has set in motion is done. To be awaited outside of its transaction. */
  settled(runId: string): Promise<void> {
    return this.final.settled(runId);
  }

  private async overtakenBy(run: Run, now: number): Promise<string | null> {
    const { workspaceId, requestedAt } = run;
    const pausedMs = await this.workspaces.pausedBetween(workspaceId, requestedAt, now);
    return isTooOld(requestedAt, now, pausedMs) ? 'run_too_old' : this.staleness.reason(run);
  }
}
