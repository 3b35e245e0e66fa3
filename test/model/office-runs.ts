import type { AdmissionModel, ModelRun } from './admission-model.js';

const LEASE_MS = 30_000;
const LOST_LIMIT = 5;
const MINUTE_MS = 60_000;
const RETRY_DELAYS_MS = [2, 10, 30, 120].map((minutes) => minutes * MINUTE_MS);
const TOO_OLD_MS = 24 * 60 * MINUTE_MS;

/** What befalls a run after it was admitted. */
export interface RunFate {
  attempt: number;
  retryCount: number;
  /** Until when somebody holds it; a cancelled one is held until its holder has let go. */
  leaseEnd: number | null;
  isInterrupted: boolean;
  cancelReason: string | null;
  isConclusive: boolean;
}

/** Why a run is not to be started any more, or null. */
type Staleness = (run: ModelRun) => string | null;

/** The runs' lives as the contract tells them: claimed one at a time for each agent, held by a lease, ended. */
export class OfficeRuns {
  /** How long the workspace was paused, from when to when; null while it still is. */
  private readonly pauses: { from: number; to: number | null }[] = [];
  private readonly fates = new Map<ModelRun, RunFate>();

  constructor(private readonly admission: AdmissionModel) {}

  fateOf(run: ModelRun): RunFate {
    const known = this.fates.get(run);
    if (known !== undefined) return known;
    const fate = {
      attempt: 0,
      retryCount: 0,
      leaseEnd: null,
      isInterrupted: false,
      cancelReason: null,
      isConclusive: false,
    };
    this.fates.set(run, fate);
    return fate;
  }

  heldBy(agent: number): ModelRun | undefined {
    return this.admission.runs.find((run) => run.agent === agent && this.fateOf(run).leaseEnd !== null);
  }

  /** The oldest queued run of each agent that may work and does not; what is stale is cancelled on the way. */
  claim(now: number, staleness: Staleness): readonly ModelRun[] {
    if (this.admission.paused) return [];
    return [...this.admission.runnable.entries()].flatMap(([agent, isRunnable]) => {
      const run =
        isRunnable && this.heldBy(agent) === undefined ? this.nextOf(agent, now, staleness) : undefined;
      if (run === undefined) return [];
      run.status = 'claimed';
      const fate = this.fateOf(run);
      fate.attempt++;
      fate.leaseEnd = now + LEASE_MS;
      return [run];
    });
  }

  /** Whether the report was taken: that on a cancelled run only lets go of it. */
  finish(run: ModelRun): boolean {
    const isTaken = run.status === 'claimed';
    if (isTaken) {
      run.status = 'finished';
      this.supersede(run);
    }
    this.letGo(run);
    return isTaken;
  }

  /** Likewise. What is neither final nor too old nor stale is tried again, a few times. */
  fail(run: ModelRun, isFinal: boolean, { now, staleness }: { now: number; staleness: Staleness }): boolean {
    const isTaken = run.status === 'claimed';
    if (isTaken) this.afterFailure(run, isFinal, { now, staleness });
    this.letGo(run);
    return isTaken;
  }

  /** Lets whatever is held have been tried again as often as it may be. */
  spendRetries(): void {
    for (const run of this.admission.runs)
      if (this.fateOf(run).leaseEnd !== null) this.fateOf(run).retryCount = RETRY_DELAYS_MS.length;
  }

  /** What the agent is to try again about a task that it has no more. */
  dropRetriesOf(agent: number, taskId: string): void {
    for (const run of this.waiting())
      if (run.agent === agent && run.taskId === taskId) this.cancel(run, 'task_assignee_changed', false);
  }

  dropStaleRetries(taskId: string, staleness: Staleness): void {
    for (const run of this.waiting()) {
      const reason = run.taskId === taskId ? staleness(run) : null;
      if (reason !== null) this.cancel(run, reason, false);
    }
  }

  pause(now: number): void {
    this.pauses.push({ from: now, to: null });
  }

  resume(now: number): void {
    const open = this.pauses.find(({ to }) => to === null);
    if (open !== undefined) open.to = now;
  }

  cancel(run: ModelRun, reason: string, isConclusive: boolean): void {
    run.status = 'cancelled';
    Object.assign(this.fateOf(run), { cancelReason: reason, isConclusive });
  }

  /** What the agent, or anybody when it is null, is doing about the task is to stop. */
  interrupt(agent: number | null, taskId: string): void {
    for (const run of this.admission.runs) {
      const isMeant = agent === null || run.agent === agent;
      if (isMeant && run.taskId === taskId && run.status === 'claimed') this.fateOf(run).isInterrupted = true;
    }
  }

  withdrawAll(agent: number): void {
    for (const run of this.admission.runs)
      if (run.agent === agent && isUnended(run)) this.cancel(run, 'agent_deleted', false);
  }

  /** What was held by somebody who has fallen silent waits for its next start, a few times. */
  takeBack(now: number): void {
    for (const run of this.admission.runs) {
      const { leaseEnd, attempt, retryCount } = this.fateOf(run);
      if (leaseEnd === null || leaseEnd >= now) continue;
      if (run.status === 'claimed') run.status = attempt - retryCount < LOST_LIMIT ? 'queued' : 'failed';
      this.letGo(run);
    }
  }

  /** Whether anything was ever made of the task that keeps it from being started unasked. */
  speakFor(taskId: string): boolean {
    return this.admission.runs.some(
      (run) =>
        run.taskId === taskId &&
        (isUnended(run) || run.status === 'finished' || this.fateOf(run).isConclusive),
    );
  }

  private nextOf(agent: number, now: number, staleness: Staleness): ModelRun | undefined {
    for (const run of this.admission.runs) {
      if (run.agent !== agent || run.status !== 'queued' || (run.retryAt ?? now) > now) continue;
      const reason = staleness(run);
      if (reason === null) return run;
      this.cancel(run, reason, false);
    }
    return undefined;
  }

  private afterFailure(
    run: ModelRun,
    isFinal: boolean,
    { now, staleness }: { now: number; staleness: Staleness },
  ): void {
    const fate = this.fateOf(run);
    const delay = RETRY_DELAYS_MS[fate.retryCount];
    if (isFinal || delay === undefined) {
      run.status = 'failed';
      fate.isConclusive = isFinal;
      return;
    }
    const reason = this.ageOf(run, now) > TOO_OLD_MS ? 'run_too_old' : staleness(run);
    if (reason !== null) {
      this.cancel(run, reason, false);
      return;
    }
    run.status = 'queued';
    run.retryAt = now + delay;
    fate.retryCount++;
  }

  /** Without the time for which its workspace was paused. */
  private ageOf({ at }: ModelRun, now: number): number {
    const paused = this.pauses.map(({ from, to }) => Math.max(0, (to ?? now) - Math.max(from, at)));
    return paused.reduce((age, pausedMs) => age - pausedMs, now - at);
  }

  private supersede(finished: ModelRun): void {
    const { agent, reason, taskId, number } = finished;
    if (taskId === null || taskId === '' || reason === 'task_comment') return;
    const alike = this.waiting().filter((run) => run.agent === agent && run.reason === reason);
    for (const run of alike)
      if (run.taskId === taskId && run.number < number) this.cancel(run, 'superseded', false);
  }

  private waiting(): readonly ModelRun[] {
    return this.admission.runs.filter(({ status, retryAt }) => status === 'queued' && retryAt !== null);
  }

  private letGo(run: ModelRun): void {
    Object.assign(this.fateOf(run), { leaseEnd: null, isInterrupted: false });
  }
}

function isUnended({ status }: ModelRun): boolean {
  return status === 'queued' || status === 'claimed';
}
