import type { RunStatus } from '../../src/runs/run.schema.js';

/**
 * The lives of runs as the contract tells them, in an array: how they are claimed, held, let go and ended. No database,
 * no locks, nothing of the code it is the measure of.
 */

const LEASE_MS = 30_000;
const LOST_LIMIT = 5;
const MINUTE_MS = 60_000;
const TOO_OLD_MS = 24 * 60 * MINUTE_MS;
const JITTER = 0.25;
const RESET_GRACE_MS = 30_000;

/** How long a run waits after its first, second, … failure. */
export const DELAYS_MS = [2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS] as const;

export interface ModelRun {
  readonly number: number;
  readonly agent: number;
  readonly reason: string;
  readonly requestedAt: number;
  status: RunStatus;
  attempt: number;
  retryCount: number;
  /** Before when it is not claimed. */
  dueAt: number | null;
  claimedAt: number | null;
  finishedAt: number | null;
  /** Until when somebody holds it; a cancelled one is held until its holder has let go. */
  leaseEnd: number | null;
  cancelReason: string | null;
  error: string | null;
}

/** A turn that ended badly. */
export interface ModelFailure {
  readonly error: string;
  readonly isRetryable: boolean;
  /** In how many milliseconds the provider says that it is there again. */
  readonly resetMs: number | null;
}

/** Between which instants a failed run is tried again. */
export interface DueBetween {
  readonly earliest: number;
  readonly latest: number;
}

/** What a holder hears at a heartbeat. */
export interface ModelHeartbeat {
  readonly leaseExpiresAt: number | null;
  readonly stopReason: 'cancelled' | 'paused' | null;
}

export class LivesModel {
  /** Since when the workspace is paused. */
  pausedSince: number | null = null;
  readonly runnable: boolean[];
  readonly runs: ModelRun[] = [];
  /** How many reports were refused because their claim did not hold, or held no longer. */
  refused = 0;
  private readonly pauses: { readonly from: number; readonly to: number }[] = [];

  constructor(agents: number) {
    this.runnable = Array.from({ length: agents }, () => true);
  }

  switchPause(now: number): void {
    if (this.pausedSince !== null) this.pauses.push({ from: this.pausedSince, to: now });
    this.pausedSince = this.pausedSince === null ? now : null;
  }

  queue(agent: number, reason: string, now: number): ModelRun {
    const run: ModelRun = {
      number: this.runs.length,
      agent,
      reason,
      requestedAt: now,
      status: 'queued',
      attempt: 0,
      retryCount: 0,
      dueAt: null,
      claimedAt: null,
      finishedAt: null,
      leaseEnd: null,
      cancelReason: null,
      error: null,
    };
    this.runs.push(run);
    return run;
  }

  get held(): readonly ModelRun[] {
    return this.runs.filter(({ leaseEnd }) => leaseEnd !== null);
  }

  /** Of the agents that may work and do not, those that have waited longest: of each its oldest run. */
  claim(most: number, now: number): readonly ModelRun[] {
    if (this.pausedSince !== null) return [];
    const heads = [...this.runnable.entries()].flatMap(([agent, isRunnable]) => {
      if (!isRunnable || this.held.some((run) => run.agent === agent)) return [];
      return this.runs
        .filter((run) => run.agent === agent && run.status === 'queued' && (run.dueAt ?? now) <= now)
        .slice(0, 1);
    });
    const claimed = heads.sort((one, other) => one.requestedAt - other.requestedAt).slice(0, most);
    for (const run of claimed) {
      Object.assign(run, { status: 'claimed', claimedAt: now, leaseEnd: now + LEASE_MS });
      run.attempt++;
    }
    return claimed;
  }

  /** Also when the lease has ended, as long as nobody has taken the run back. */
  heartbeat(run: ModelRun, now: number): ModelHeartbeat {
    if (run.status === 'cancelled') return { leaseExpiresAt: run.leaseEnd, stopReason: 'cancelled' };
    run.leaseEnd = now + LEASE_MS;
    const mustStop = this.pausedSince !== null || this.runnable[run.agent] !== true;
    return { leaseExpiresAt: run.leaseEnd, stopReason: mustStop ? 'paused' : null };
  }

  /**
   * Whether the report was taken: that on a cancelled run only lets go of it. What waits for another try and is older is
   * done with.
   */
  finish(run: ModelRun, now: number): boolean {
    const isTaken = this.end(run, { status: 'finished', finishedAt: now });
    const isOvertaken = (other: ModelRun) =>
      other.agent === run.agent &&
      other.reason === run.reason &&
      other.number < run.number &&
      other.status === 'queued' &&
      other.dueAt !== null;
    if (isTaken) for (const other of this.runs.filter(isOvertaken)) this.cancel(other, 'superseded', now);
    return isTaken;
  }

  /** Between which instants it is tried again; null when it is not. */
  fail(run: ModelRun, { error, isRetryable, resetMs }: ModelFailure, now: number): DueBetween | null {
    const delay = isRetryable ? DELAYS_MS[run.retryCount] : undefined;
    if (delay === undefined) {
      this.end(run, { status: 'failed', finishedAt: now, error });
      return null;
    }
    if (now - run.requestedAt - this.pausedSinceThen(run.requestedAt, now) > TOO_OLD_MS) {
      this.end(run, { status: 'cancelled', cancelReason: 'run_too_old', finishedAt: now, error });
      return null;
    }
    const retryCount = run.retryCount + 1;
    if (!this.end(run, { status: 'queued', claimedAt: null, retryCount, error })) return null;
    const reset = resetMs === null ? null : now + resetMs + RESET_GRACE_MS;
    return { earliest: reset ?? now + delay, latest: reset ?? now + delay * (1 + JITTER) };
  }

  release(run: ModelRun): boolean {
    return this.end(run, { status: 'queued', claimedAt: null, attempt: run.attempt - 1 });
  }

  /** Whether the run had not ended already. */
  cancel(run: ModelRun, cancelReason: string, now: number): boolean {
    if (run.status !== 'queued' && run.status !== 'claimed') return false;
    Object.assign(run, { status: 'cancelled', cancelReason, finishedAt: now });
    return true;
  }

  /** What was held by somebody who has fallen silent waits for its next start, a few times. Answers what that befell. */
  takeBack(now: number): readonly ModelRun[] {
    const late = this.held.filter(({ leaseEnd }) => (leaseEnd ?? now) < now);
    for (const run of late) {
      run.leaseEnd = null;
      if (run.status !== 'claimed') continue;
      // Turns that failed by themselves were not lost.
      const isGivenUp = run.attempt - run.retryCount >= LOST_LIMIT;
      if (isGivenUp) Object.assign(run, { status: 'failed', error: 'worker_lost', finishedAt: now });
      else Object.assign(run, { status: 'queued', claimedAt: null });
    }
    return late;
  }

  private pausedSinceThen(then: number, now: number): number {
    const open = this.pausedSince === null ? [] : [{ from: this.pausedSince, to: now }];
    return [...this.pauses, ...open].reduce(
      (sum, { from, to }) => sum + Math.max(0, to - Math.max(from, then)),
      0,
    );
  }

  private end(run: ModelRun, changes: Partial<ModelRun>): boolean {
    const isTaken = run.status === 'claimed';
    Object.assign(run, isTaken ? changes : {}, { leaseEnd: null });
    if (!isTaken) this.refused++;
    return isTaken;
  }
}
