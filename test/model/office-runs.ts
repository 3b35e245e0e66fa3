import type { AdmissionModel, ModelRun } from './admission-model.js';

const LEASE_MS = 30_000;
const LOST_LIMIT = 5;

/** What befalls a run after it was admitted. */
export interface RunFate {
  attempt: number;
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
  private readonly fates = new Map<ModelRun, RunFate>();

  constructor(private readonly admission: AdmissionModel) {}

  fateOf(run: ModelRun): RunFate {
    const known = this.fates.get(run);
    if (known !== undefined) return known;
    const fate = {
      attempt: 0,
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
      const run = isRunnable && this.heldBy(agent) === undefined ? this.nextOf(agent, staleness) : undefined;
      if (run === undefined) return [];
      run.status = 'claimed';
      const fate = this.fateOf(run);
      fate.attempt++;
      fate.leaseEnd = now + LEASE_MS;
      return [run];
    });
  }

  /** Whether the report was taken: that on a cancelled run only lets go of it. */
  end(run: ModelRun, status: 'finished' | 'failed', isConclusive = false): boolean {
    const isTaken = run.status === 'claimed';
    if (isTaken) {
      run.status = status;
      this.fateOf(run).isConclusive = isConclusive;
    }
    this.letGo(run);
    return isTaken;
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
      const { leaseEnd, attempt } = this.fateOf(run);
      if (leaseEnd === null || leaseEnd >= now) continue;
      if (run.status === 'claimed') run.status = attempt < LOST_LIMIT ? 'queued' : 'failed';
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

  private nextOf(agent: number, staleness: Staleness): ModelRun | undefined {
    for (const run of this.admission.runs) {
      if (run.agent !== agent || run.status !== 'queued') continue;
      const reason = staleness(run);
      if (reason === null) return run;
      this.cancel(run, reason, false);
    }
    return undefined;
  }

  private letGo(run: ModelRun): void {
    Object.assign(this.fateOf(run), { leaseEnd: null, isInterrupted: false });
  }
}

function isUnended({ status }: ModelRun): boolean {
  return status === 'queued' || status === 'claimed';
}
