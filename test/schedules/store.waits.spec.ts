import { Gate } from '../support/gate.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';
import { type Bench, answerOf, memoryBench, realBench } from './bench.js';
import { RaceCourse } from './race-course.js';
import { type Race, races } from './races.js';
import { Undone, ignoreUndone } from './undone.js';

describe('who waits for whom', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const memory = memoryBench();
  const benches: Record<string, () => Bench> = {
    'on PostgreSQL': () => realBench(reveille()),
    'in memory': () => memory,
  };

  describe.each(Object.keys(benches))('%s', (where) => {
    it.each(Object.keys(races))('%s', async (what) => {
      const race = races[what];
      const bench = benches[where]?.();
      if (race === undefined || bench === undefined) throw new Error('There is no such race.');
      const [committed, rolledBack] = race.answers;
      expect(await run(bench, race, 'commits')).toEqual({ waits: race.waits, answer: committed });
      expect(await run(bench, race, 'rolls back')).toEqual({ waits: race.waits, answer: rolledBack });
    });

    it('two transactions for each other, of which one gets no lock', async () => {
      const bench = benches[where]?.();
      if (bench === undefined) throw new Error('There is no such bench.');
      const place = await RaceCourse.open(bench);
      await bench.transactions.run(() => place.insertTwo());
      const gates = [new Gate(), new Gate()] as const;
      const both = ([mine, theirs]: readonly [string, string], [here, there]: readonly [Gate, Gate]) =>
        answerOf(bench, () =>
          bench.transactions.run(async () => {
            await place.merge(mine);
            here.open();
            await there.passed;
            return place.merge(theirs);
          }),
        );
      const answers = await Promise.all([
        both(['one', 'two'], gates),
        both(['two', 'one'], [gates[1], gates[0]]),
      ]);
      expect([...answers].sort()).toEqual(['gets no lock', true]);
    });
  });
});

/** Runs the race, and answers whether the second had to wait for the first, and what it answered. */
async function run(bench: Bench, { given, first, second }: Race, end: 'commits' | 'rolls back') {
  const place = await RaceCourse.open(bench);
  await bench.transactions.run(() => given?.(place) ?? Promise.resolve());
  const [hasBegun, mayEnd] = [new Gate(), new Gate()];
  const one = bench.transactions.run(async () => {
    await first(place);
    hasBegun.open();
    await mayEnd.passed;
    if (end === 'rolls back') throw new Undone();
  });
  await Promise.race([hasBegun.passed, one]);
  let isDone = false;
  const two = answerOf(bench, () => bench.transactions.run(() => second(place))).finally(() => {
    isDone = true;
  });
  const waits = await until('the second waits or is done', async () => {
    if (isDone) return false;
    return (await bench.isAnybodyWaiting()) ? true : undefined;
  });
  mayEnd.open();
  await one.catch(ignoreUndone);
  return { waits, answer: await two };
}
