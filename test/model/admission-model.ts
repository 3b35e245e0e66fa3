import {
  ALLOWANCE_LIMIT,
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
  IDEMPOTENCY_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';

/**
 * Admission as the requirements tell it, in arrays: no database, no locks, nothing of the code it is the measure of but
 * the limits. Where it and Reveille differ, one of them has misread the rules.
 */

/** A payload by what it means, beside the text that is sent. */
export interface ModelPayload {
  readonly text: string;
  /** A task's id; `''` for none; null for what can be compared with nothing. */
  readonly taskId: string | null;
  readonly actorType: string | null;
  readonly actorId: string | null;
}

export interface ModelWake {
  readonly agent: number;
  readonly reason: string;
  readonly payload: ModelPayload;
  readonly key: string | null;
}

export interface ModelRun {
  readonly number: number;
  readonly agent: number;
  readonly reason: string;
  payload: ModelPayload;
  readonly taskId: string | null;
  status: 'queued' | 'claimed' | 'finished' | 'failed' | 'cancelled';
  count: number;
  readonly key: string | null;
  readonly at: number;
  /** From when on it may be tried again; null of one that has not failed. */
  retryAt: number | null;
}

interface LedgerEntry {
  readonly run: ModelRun;
  readonly payload: ModelPayload;
  readonly key: string | null;
  readonly at: number;
}

interface KeptDecision {
  readonly agent: number;
  readonly taskId: string | null;
  readonly reason: string;
  readonly outcome: string;
  readonly error: string | null;
  readonly firstAt: number;
  lastAt: number;
  count: number;
}

export interface Expected {
  readonly outcome: 'queued' | 'coalesced' | 'deduped' | 'rate_limited' | 'none';
  readonly run: ModelRun | null;
  readonly gate: string | null;
  readonly error: string | null;
  readonly observed: number | null;
  readonly retryAt: number | null;
}

const FOLD_MS = 60_000;
const KEPT_MS = 7 * 24 * 60 * 60_000;
const DECIDED = { run: null, gate: null, error: null, observed: null, retryAt: null } as const;

export class AdmissionModel {
  paused = false;
  readonly runnable: boolean[];
  readonly runs: ModelRun[] = [];
  readonly ledger: LedgerEntry[] = [];
  readonly decisions: KeptDecision[] = [];
  readonly counters = new Map<string, number>();
  private made = 0;

  constructor(agents: number) {
    this.runnable = Array.from({ length: agents }, () => true);
  }

  wake(wake: ModelWake, now: number): Expected {
    const expected = this.judge(wake, now);
    this.count(`decisions ${expected.outcome}`);
    if (expected.outcome !== 'queued') this.keep(wake, expected, now);
    return expected;
  }

  /** The oldest queued run of each agent that may work and does not. */
  claim(): readonly ModelRun[] {
    if (this.paused) return [];
    const claimed: ModelRun[] = [];
    for (const [agent, isRunnable] of this.runnable.entries()) {
      if (!isRunnable || this.runs.some((run) => run.agent === agent && run.status === 'claimed')) continue;
      const next = this.runs.find((run) => run.agent === agent && run.status === 'queued');
      if (next === undefined) continue;
      next.status = 'claimed';
      claimed.push(next);
    }
    return claimed;
  }

  delete(run: ModelRun): void {
    this.runs.splice(this.runs.indexOf(run), 1);
    const kept = this.ledger.filter((entry) => entry.run !== run);
    this.ledger.splice(0, this.ledger.length, ...kept);
  }

  /** Decisions are kept for a week after the last of those that one stands for. */
  forgetOld(now: number): void {
    const kept = this.decisions.filter(({ lastAt }) => lastAt >= now - KEPT_MS);
    this.decisions.splice(0, this.decisions.length, ...kept);
  }

  count(what: string): void {
    this.counters.set(what, (this.counters.get(what) ?? 0) + 1);
  }

  private judge(wake: ModelWake, now: number): Expected {
    if (this.runnable[wake.agent] !== true)
      return { ...DECIDED, outcome: 'none', error: 'agent_not_runnable' };
    if (this.paused) return { ...DECIDED, outcome: 'none', error: 'workspace_paused' };
    const holder = this.holder(wake.key, now - IDEMPOTENCY_WINDOW_MS);
    if (holder !== null) return this.deduped(wake, holder, 'idempotency');
    return this.merge(wake, now) ?? this.limit(wake, now);
  }

  private merge(wake: ModelWake, now: number): Expected | null {
    const { taskId } = wake.payload;
    if (taskId === null || isComment(wake.key)) return null;
    const into = this.runs.findLast(
      (run) =>
        run.agent === wake.agent &&
        run.reason === wake.reason &&
        run.status === 'queued' &&
        run.retryAt === null &&
        run.taskId === taskId &&
        run.at > now - COALESCING_WINDOW_MS &&
        !isComment(run.key),
    );
    if (into === undefined) return null;
    const owner = this.ledger.find(({ key }) => key !== null && key === wake.key);
    if (owner !== undefined) return this.deduped(wake, owner.run, 'insert');
    if (into.count === 1) this.ledger.push({ run: into, payload: into.payload, key: null, at: into.at });
    this.ledger.push({ run: into, payload: wake.payload, key: wake.key, at: now });
    into.payload = wake.payload;
    into.count++;
    return { ...DECIDED, outcome: 'coalesced', run: into, gate: 'coalescing' };
  }

  private limit(wake: ModelWake, now: number): Expected {
    const { actorType, taskId } = wake.payload;
    if (wake.reason !== 'task_assigned' || actorType !== 'agent') return this.insert(wake, now, null);
    if (taskId === null || taskId === '') {
      const expected = this.insert(wake, now, null);
      if (expected.outcome === 'queued') this.count('allowance task_unattributed');
      return expected;
    }
    const admitted = this.runs
      .filter(
        (run) => run.reason === 'task_assigned' && run.payload.actorType === 'agent' && run.taskId === taskId,
      )
      .map(({ at }) => at)
      .filter((at) => at > now - ALLOWANCE_WINDOW_MS && at <= now)
      .sort((one, other) => other - one);
    if (admitted.length < ALLOWANCE_LIMIT) return this.insert(wake, now, admitted.length);
    this.count('allowance allowance_exhausted');
    const leaving = admitted[ALLOWANCE_LIMIT - 1] ?? 0;
    const refusal = { observed: admitted.length, retryAt: leaving + ALLOWANCE_WINDOW_MS };
    return { ...DECIDED, outcome: 'rate_limited', gate: 'assignment_allowance', ...refusal };
  }

  private insert(wake: ModelWake, now: number, observed: number | null): Expected {
    const owner = this.runs.find(({ key }) => key !== null && key === wake.key);
    if (owner !== undefined) return this.deduped(wake, owner, 'insert');
    const { agent, reason, payload, key } = wake;
    const number = this.made++;
    const run: ModelRun = {
      number,
      agent,
      reason,
      payload,
      taskId: payload.taskId,
      status: 'queued',
      count: 1,
      key,
      at: now,
      retryAt: null,
    };
    this.runs.push(run);
    return { ...DECIDED, outcome: 'queued', run, observed };
  }

  private deduped({ reason }: ModelWake, run: ModelRun, gate: 'idempotency' | 'insert'): Expected {
    this.count(`dedup ${reason} ${gate === 'insert' ? 'durable' : 'windowed'}`);
    return { ...DECIDED, outcome: 'deduped', run, gate };
  }

  private holder(key: string | null, after: number): ModelRun | null {
    if (key === null) return null;
    const own = this.runs.find((run) => run.key === key && run.at > after);
    return own ?? this.ledger.find((entry) => entry.key === key && entry.at > after)?.run ?? null;
  }

  private keep(
    { agent, reason, payload: { taskId } }: ModelWake,
    { outcome, error }: Expected,
    now: number,
  ): void {
    const equal = this.decisions.findLast(
      (kept) =>
        kept.agent === agent &&
        kept.reason === reason &&
        kept.taskId === taskId &&
        kept.outcome === outcome &&
        kept.error === error &&
        kept.firstAt > now - FOLD_MS,
    );
    if (equal === undefined)
      this.decisions.push({ agent, taskId, reason, outcome, error, firstAt: now, lastAt: now, count: 1 });
    else Object.assign(equal, { count: equal.count + 1, lastAt: now });
  }
}

function isComment(key: string | null): boolean {
  return key?.startsWith('task_comment:') === true;
}
