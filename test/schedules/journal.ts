import type { Run } from '../../src/runs/run.schema.js';
import type { Decision } from '../../src/scheduler/decision.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import type { MemoryStore } from './store/memory-store.js';
import type { Session } from './store/session.js';
import type { PlannedWake } from './scenario.js';

/** What a wake was told; `undefined` while it is being decided. */
type Answer = { readonly decision: Decision } | { readonly error: unknown } | undefined;

/** One wake, and what there was to see while it was decided. */
export interface Entry {
  readonly plan: PlannedWake;
  readonly request: WakeRequest;
  readonly caller: string;
  answer: Answer;
  /** The statement that the database refused to the caller. */
  refused: string | null;
  /** Whether what was decided has been committed. */
  isKept: boolean;
  /** How many in-scope runs of the task the wake's transaction could see, at the latest look. */
  seen: number;
  mostSeen: number;
  leastSeen: number;
  /** How many the transaction could see when it made a run for the wake. */
  seenByInsert: number | null;
  sawPause: boolean;
  sawNoPause: boolean;
  /** Whether the named run was committed, or the transaction's own, when the answer was given. */
  namesWhatWasThere: boolean;
  /** Whether it had the wake's key then, as its own or in the ledger. */
  namesWhoHasKey: boolean;
}

/** Watches wakes being decided: it looks after every step of anybody, as no wake could by itself. */
export class Journal {
  readonly entries: Entry[] = [];
  /** The payloads that were handed out with each claimed run. */
  readonly delivered = new Map<string, readonly string[]>();

  constructor(
    private readonly store: MemoryStore,
    private readonly sessionOf: (caller: string) => Session | null,
  ) {}

  ask(plan: PlannedWake, request: WakeRequest, caller: string): Entry {
    const entry: Entry = {
      plan,
      request,
      caller,
      answer: undefined,
      refused: null,
      isKept: false,
      seen: 0,
      mostSeen: 0,
      leastSeen: Infinity,
      seenByInsert: null,
      sawPause: false,
      sawNoPause: false,
      namesWhatWasThere: true,
      namesWhoHasKey: false,
    };
    this.entries.push(entry);
    this.observe();
    return entry;
  }

  /** What is committed later does not count: the answer must have been true when it was given. */
  decided(entry: Entry, decision: Decision): void {
    entry.answer = { decision };
    const { runId } = decision;
    if (runId === null) return;
    const session = this.sessionOf(entry.caller);
    const runs = [...this.store.runs.past, ...this.store.runs.seenBy(session)];
    const named = runs.filter(({ id }) => id === runId);
    const ledger = [...this.store.ledger.past, ...this.store.ledger.seenBy(session)];
    const rows = [...named, ...ledger.filter((wake) => wake.runId === runId)];
    const key = entry.request.idempotencyKey;
    entry.namesWhatWasThere = named.length > 0;
    entry.namesWhoHasKey = rows.some(({ idempotencyKey }) => idempotencyKey === key);
  }

  /** Looks for every wake that is being decided. */
  observe(): void {
    const committed = this.store.runs.seenBy(null);
    const isPaused = this.store.pauses.seenBy(null).some(({ releasedAt }) => releasedAt === null);
    for (const entry of this.entries) {
      if (entry.answer === undefined) this.look(entry, committed, isPaused);
    }
  }

  private look(entry: Entry, committed: readonly Run[], isPaused: boolean): void {
    const { task } = entry.plan;
    const runs = this.store.runs.seenBy(this.sessionOf(entry.caller));
    const isInserted = runs.some(({ payload }) => payload === entry.request.payload);
    entry.seenByInsert = isInserted ? (entry.seenByInsert ?? entry.seen) : null;
    entry.seen = inScope(runs, task);
    entry.mostSeen = Math.max(entry.mostSeen, entry.seen);
    // What the transaction has made itself is no part of what it could be late for.
    entry.leastSeen = Math.min(entry.leastSeen, entry.seen, inScope(committed, task));
    if (isPaused) entry.sawPause = true;
    else entry.sawNoPause = true;
  }
}

/** How many runs of the task the allowance is about. */
function inScope(runs: readonly Run[], task: string): number {
  let count = 0;
  for (const { reason, actorType, taskId } of runs) {
    if (reason === 'task_assigned' && actorType === 'agent' && taskId === task) count++;
  }
  return count;
}
