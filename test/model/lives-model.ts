import type { RunStatus } from '../../src/runs/run.schema.js';

/**
 * The lives of runs as the contract tells them, in an array: how they are claimed, held, let go and ended. No database,
 * no locks, nothing of the code it is the measure of.
 */

const LEASE_MS = 30_000;
const LOST_LIMIT = 5;

export interface ModelRun {
  readonly number: number;
  readonly agent: number;
  readonly requestedAt: number;
  status: RunStatus;
  attempt: number;
  claimedAt: number | null;
  finishedAt: number | null;
  /** Until when somebody holds it; a cancelled one is held until its holder has let go. */
  leaseEnd: number | null;
  cancelReason: string | null;
  error: string | null;
}

/** What a holder hears at a heartbeat. */
export interface ModelHeartbeat {
  readonly leaseExpiresAt: number | null;
  readonly stopReason: 'cancelled' | 'paused' | null;
}

export class LivesModel {
  isPaused = false;
  readonly runnable: boolean[];
  readonly runs: ModelRun[] = [];
  /** How many reports were refused because their claim did not hold, or held no longer. */
  refused = 0;

  constructor(agents: number) {
    this.runnable = Array.from({ length: agents }, () => true);
  }

  queue(agent: number, now: number): ModelRun {
    const run: ModelRun = {
      number: this.runs.length,
      agent,
      requestedAt: now,
      status: 'queued',
      attempt: 0,
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
    if (this.isPaused) return [];
    const heads = [...this.runnable.entries()].flatMap(([agent, isRunnable]) => {
      if (!isRunnable || this.held.some((run) => run.agent === agent)) return [];
      return this.runs.filter((run) => run.agent === agent && run.status === 'queued').slice(0, 1);
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
    const mustStop = this.isPaused || this.runnable[run.agent] !== true;
    return { leaseExpiresAt: run.leaseEnd, stopReason: mustStop ? 'paused' : null };
  }

  /** Whether the report was taken: that on a cancelled run only lets go of it. */
  finish(run: ModelRun, now: number): boolean {
    return this.end(run, { status: 'finished', finishedAt: now });
  }

  /** For good. */
  fail(run: ModelRun, error: string, now: number): boolean {
    return this.end(run, { status: 'failed', finishedAt: now, error });
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
      const isGivenUp = run.attempt >= LOST_LIMIT;
      if (isGivenUp) Object.assign(run, { status: 'failed', error: 'worker_lost', finishedAt: now });
      else Object.assign(run, { status: 'queued', claimedAt: null });
    }
    return late;
  }

  private end(run: ModelRun, changes: Partial<ModelRun>): boolean {
    const isTaken = run.status === 'claimed';
    Object.assign(run, isTaken ? changes : {}, { leaseEnd: null });
    if (!isTaken) this.refused++;
    return isTaken;
  }
}
