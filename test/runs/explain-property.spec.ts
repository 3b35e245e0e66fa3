import fc from 'fast-check';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { ExplainWorld } from './explain-world.js';

/** How many sequences are tried on each database; the deep run asks for more. */
const SEQUENCES = Math.ceil(Number(process.env['REVEILLE_SEQUENCES'] ?? 1_000) / 20);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 12 * 60 * 60_000;

type Step = readonly [what: string, take: (world: ExplainWorld) => Promise<void> | void];

const agent = fc.constantFrom(0, 1);

/** A step of that name with what is drawn for it. */
function step<T>(
  what: string,
  drawn: fc.Arbitrary<T>,
  take: (world: ExplainWorld, value: T) => Promise<void> | void,
): fc.Arbitrary<Step> {
  return drawn.map((value) => [`${what} ${JSON.stringify(value)}`, (world) => take(world, value)] as const);
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step('wake', agent, (world, one) => world.wake(one)) },
    { weight: 5, arbitrary: step('assign', fc.constantFrom(0, 1, null), (world, one) => world.assign(one)) },
    step('state', fc.constantFrom('TODO', 'COMPLETED'), (world, state) => world.setState(state)),
    { weight: 2, arbitrary: step('claim', agent, (world, one) => world.claim(one)) },
    step('finish', agent, (world, one) => world.end(one, 'finish')),
    step('release', agent, (world, one) => world.end(one, 'release')),
    step('cancel', agent, (world, one) => world.cancel(one)),
    step('lose', fc.constant(null), (world) => world.loseLeases()),
    step('postpone', fc.tuple(agent, fc.constantFrom(0, 5)), (world, [one, minutes]) =>
      world.postpone(one, minutes),
    ),
    step('status', fc.tuple(agent, fc.constantFrom('idle', 'paused')), (world, [one, status]) =>
      world.setStatus(one, status),
    ),
    step('pause', fc.boolean(), (world, isPaused) => world.setPause(isPaused)),
    {
      weight: 1,
      arbitrary: step('advance', fc.constantFrom(1, 5), (world, by) => {
        world.advance(by);
      }),
    },
  ),
  { minLength: 1, maxLength: 14, size: 'max' },
);

onEachDatabase('a run that is explained', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));

  it(
    'AC-OFFICE-WORKER-010.2 is called claimable exactly when the next claim for its agent takes it, whatever happened before',
    async () => {
      let claimable = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (taken) => {
          const world = await ExplainWorld.open(reveille());
          for (const [, take] of taken) {
            await take(world);
            const explained = await world.explained();
            expect(explained).toEqual(await world.taken());
            claimable += Object.values(explained).flat().length;
          }
        }),
        { numRuns: SEQUENCES, endOnFailure: false },
      );
      expect(claimable).toBeGreaterThan(SEQUENCES);
    },
    PATIENCE_MS,
  );
});
