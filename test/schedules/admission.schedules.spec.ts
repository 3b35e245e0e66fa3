import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { House } from './house.js';
import { play } from './play.js';
import { scenarios } from './scenario.js';
import type { LockPatience } from './store/memory-store.js';

/** How many different interleavings are tried, by the three tests together; the deep run asks for more. */
const SCHEDULES = Number(process.env['REVEILLE_SCHEDULES'] ?? 5_100);

const SHARE = Math.ceil(SCHEDULES / 3);

/** Some of what is generated turns out to have been tried before. */
const TRIES = Math.ceil(SHARE * 1.05);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 3 * 60 * 60_000;

describe('wakes at the same time, interleaved statement by statement', () => {
  const house = new House();

  beforeAll(() => {
    // Most of what is logged is what the scenarios are made to bring about.
    Logger.overrideLogger(false);
  });

  /** Plays different scenarios, each in an order of its own, until that is shown for the test's share of them. */
  const expectPromisesKept = async (patience: LockPatience) => {
    const tried = new Set<string>();
    const property = fc.asyncProperty(scenarios, fc.scheduler(), async (scenario, scheduler) => {
      const { broken, interleaving } = await play(house, patience, scenario, scheduler);
      tried.add(interleaving);
      expect(broken).toEqual([]);
    });
    await fc.assert(property, { numRuns: TRIES });
    expect(tried.size).toBeGreaterThanOrEqual(SHARE);
  };

  it(
    'AC-OFFICE-ASSIGN-RATE-001.2, RUN-DEDUP-3, COALESCING-10, COALESCING-11 have exact counts, one run for equal ones, and none is lost',
    () => expectPromisesKept('waits'),
    PATIENCE_MS,
  );

  it.each<[string, LockPatience]>([
    ['when their turn is not to be had in time', 'tries'],
    ['when turns are never to be had', 'never'],
  ])(
    'AC-OFFICE-ASSIGN-RATE-002.1, RUN-DEDUP-8, COALESCING-11 are never refused early, have one run and one note a key, and none is lost %s',
    (_when, patience) => expectPromisesKept(patience),
    PATIENCE_MS,
  );
});
