import type { RaceCourse } from './race-course.js';

/** Two transactions of which the second begins while the first is open. */
export interface Race {
  /** What is there before. */
  readonly given?: (on: RaceCourse) => Promise<unknown>;
  readonly first: (on: RaceCourse) => Promise<unknown>;
  readonly second: (on: RaceCourse) => Promise<unknown>;
  /** What the second answers when the first commits, and when it rolls back. */
  readonly answers: readonly [unknown, unknown];
  readonly waits: boolean;
}

const held = { status: 'claimed', claimTokenHash: 'hash' } as const;

export const races: Record<string, Race> = {
  'a run whose key an open transaction inserts': {
    first: (on) => on.insert('one', 'k'),
    second: (on) => on.insert('two', 'k'),
    answers: ['violates runs_key', undefined],
    waits: true,
  },
  'a run whose key was undone by a step of an open transaction': {
    first: (on) => on.undone(() => on.insert('one', 'k')),
    second: (on) => on.insert('two', 'k'),
    answers: [undefined, undefined],
    waits: false,
  },
  'a run whose key an open transaction deletes': {
    given: (on) => on.insert('one', 'k'),
    first: (on) => on.bench.deleteRun(on.id('one')),
    second: (on) => on.insert('two', 'k'),
    answers: [undefined, 'violates runs_key'],
    waits: true,
  },
  'a run whose key is on a run that an open transaction merges into': {
    given: (on) => on.insert('one', 'k'),
    first: (on) => on.merge('one'),
    second: (on) => on.insert('two', 'k'),
    answers: ['violates runs_key', 'violates runs_key'],
    waits: true,
  },
  'a run whose key is on a run that an open transaction only locks': {
    given: (on) => on.insert('one', 'k'),
    first: (on) => on.bench.claims.lock(on.id('one')),
    second: (on) => on.insert('two', 'k'),
    answers: ['violates runs_key', 'violates runs_key'],
    waits: false,
  },
  'a note of a key that an open transaction notes': {
    first: (on) => on.note('one', 'k'),
    second: (on) => on.note('two', 'k'),
    answers: ['violates run_wakes_key', undefined],
    waits: true,
  },
  'a merge into a run that an open transaction claims': {
    given: (on) => on.insert('one', null),
    first: (on) => on.bench.claims.change(on.id('one'), 'queued', held),
    second: (on) => on.merge('one'),
    answers: [false, true],
    waits: true,
  },
  'a merge into a run that an open transaction merges into': {
    given: (on) => on.insert('one', null),
    first: (on) => on.merge('one'),
    second: async (on) => [await on.merge('one'), (await on.find('one'))?.coalescedCount],
    answers: [
      [true, 3],
      [true, 2],
    ],
    waits: true,
  },
  'a merge into a run that an open transaction deletes': {
    given: (on) => on.insert('one', null),
    first: (on) => on.bench.deleteRun(on.id('one')),
    second: (on) => on.merge('one'),
    answers: [false, true],
    waits: true,
  },
  'a merge into a run that an open transaction inserts': {
    first: (on) => on.insert('one', null),
    second: (on) => on.merge('one'),
    answers: [false, false],
    waits: false,
  },
  'a look at a run that an open transaction changes': {
    given: (on) => on.insert('one', null),
    first: (on) => on.merge('one'),
    second: async (on) => (await on.find('one'))?.coalescedCount,
    answers: [1, 1],
    waits: false,
  },
  'the lock of the oldest due run that an open transaction merges into': {
    given: (on) => on.insert('one', null),
    first: (on) => on.merge('one'),
    second: async (on) => (await on.bench.claims.oldestDue(on.id('agent'), 0))?.coalescedCount,
    answers: [2, 1],
    waits: true,
  },
  'the lock of agents whom an open transaction locks': {
    given: (on) => on.insertWaiting('one'),
    first: (on) => on.lockAgents(),
    second: async (on) => (await on.lockAgents()).length,
    answers: [0, 0],
    waits: false,
  },
  'a second claim of an agent whose first is open': {
    given: (on) => on.insertTwo(),
    first: (on) => on.bench.claims.change(on.id('one'), 'queued', held),
    second: (on) => on.bench.claims.change(on.id('two'), 'queued', held),
    answers: ['violates runs_one_held_per_agent', true],
    waits: true,
  },
  'a lock by name that an open transaction holds': {
    first: (on) => on.lockName(),
    second: (on) => on.lockName(),
    answers: [undefined, undefined],
    waits: true,
  },
  'a lock by name that a step of an open transaction has given back': {
    first: (on) => on.undone(() => on.lockName()),
    second: (on) => on.lockName(),
    answers: [undefined, undefined],
    waits: false,
  },
};
