import fc from 'fast-check';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';

/** A wake as a caller asks for it; its place among all wakes stands in its payload, by which it is found again. */
export interface PlannedWake {
  readonly agent: number;
  readonly reason: string;
  readonly task: string;
  readonly actor: 'agent' | 'user';
  readonly key: string | null;
}

/** Somebody who asks for wakes, one after another. */
interface Caller {
  readonly wakes: readonly PlannedWake[];
  /** Whether each wake is decided by itself, or all in a transaction of the caller's, and how that ends. */
  readonly own: 'none' | 'committed' | 'failing';
  /** Which of the caller's statements the database refuses; none when it is null. */
  readonly refused: number | null;
}

/** Somebody who changes what wakes are decided by. */
type Neighbour =
  | { readonly does: 'work'; readonly fails: boolean }
  | { readonly does: 'delete'; readonly place: number }
  | { readonly does: 'pause' };

/** Everything that happens at once, and what was there before. */
export interface Scenario {
  /** How many in-scope wakes of the task were admitted a minute ago. */
  readonly spent: number;
  /** A run of the first agent that waits in the queue, to be merged with. */
  readonly waiting: { readonly key: string | null; readonly actor: 'agent' | 'user' } | null;
  readonly callers: readonly Caller[];
  readonly neighbours: readonly Neighbour[];
}

export const AGENTS = 3;

const actors = fc.constantFrom('agent', 'agent', 'agent', 'user');
const keys = fc.option(fc.constantFrom('k1', 'k1', 'k1', 'k2', 'task_comment:c'), { freq: 2 });

/** Few agents, tasks and keys, so that wakes meet each other. */
const wakes: fc.Arbitrary<PlannedWake> = fc.record({
  agent: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(AGENTS - 1) }),
  reason: fc.constantFrom('task_assigned', 'task_assigned', 'task_assigned', 'task_comment'),
  task: fc.constantFrom('t1', 't1', 't1', 't1', 't2', ''),
  actor: actors,
  key: keys,
});

const callers: fc.Arbitrary<Caller> = fc.record({
  wakes: fc.oneof(
    { weight: 4, arbitrary: fc.array(wakes, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(wakes, { minLength: 2, maxLength: 2 }) },
  ),
  own: fc.constantFrom('none', 'none', 'none', 'committed', 'failing'),
  refused: fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 14 }) },
  ),
});

const neighbours: fc.Arbitrary<Neighbour> = fc.oneof(
  fc.record({ does: fc.constant('work' as const), fails: fc.boolean() }),
  fc.record({ does: fc.constant('delete' as const), place: fc.nat(ALLOWANCE_LIMIT) }),
  fc.constant({ does: 'pause' as const }),
);

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  spent: fc.oneof(fc.nat(ALLOWANCE_LIMIT), fc.constant(ALLOWANCE_LIMIT - 1)),
  waiting: fc.option(fc.record({ key: fc.constantFrom(null, 'k1'), actor: actors }), { freq: 2 }),
  callers: fc.array(callers, { minLength: 2, maxLength: 6, size: 'max' }),
  neighbours: fc.array(neighbours, { maxLength: 2 }),
});
