import fc from 'fast-check';
import { Transactions } from '../../src/database/transactions.js';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { adjusted } from './adjusted.js';
import { AGENTS, livesCommands, queue } from './lives-commands.js';
import { LivesModel } from './lives-model.js';
import { LivesWorld } from './lives-world.js';

/** How many sequences are tried on each database; the deep run asks for more. */
const SEQUENCES = Number(process.env['REVEILLE_SEQUENCES'] ?? 100);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 6 * 60 * 60_000;

onEachDatabase('the lives of runs against their model', (database) => {
  const reveille = useReveille(() => TestReveille.start(database, {}, adjusted));

  it(
    'AC-OFFICE-WORKER-001.2 AC-OFFICE-WORKER-001.4 AC-OFFICE-WORKER-004.1 AC-OFFICE-WORKER-005.1 AC-OFFICE-WORKER-005.5 AC-OFFICE-WORKER-006.2 claims, keeps, puts back and ends runs after every sequence as the contract says',
    async () => {
      const sequences = fc.commands(livesCommands, { maxCommands: 12, size: 'max' });
      await fc.assert(
        fc.asyncProperty(sequences, async (commands) => {
          const { model, world } = await anOfficeWithRuns(reveille());
          await fc.asyncModelRun(() => ({ model, real: world }), commands);
          await world.expectCounted(model);
        }),
        { numRuns: SEQUENCES, endOnFailure: false },
      );
    },
    PATIENCE_MS,
  );
});

/** One transaction for all that only prepares a sequence, instead of waiting for the disk each time. */
function anOfficeWithRuns(reveille: TestReveille): Promise<{ model: LivesModel; world: LivesWorld }> {
  return reveille.get(Transactions).run(async () => {
    await LivesWorld.clear(reveille);
    const model = new LivesModel(AGENTS);
    const world = await LivesWorld.make(reveille, AGENTS);
    for (const agent of [0, 0, 1, 2]) await queue(agent, 'hello', { model, world });
    return { model, world };
  });
}
