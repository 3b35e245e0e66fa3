import fc from 'fast-check';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { AGENTS, admissionCommands } from './admission-commands.js';
import { AdmissionModel } from './admission-model.js';
import { AdmissionWorld } from './admission-world.js';
import { withoutGauges } from './counters.js';

/** How many sequences are tried on each database; the deep run asks for more. */
const SEQUENCES = Number(process.env['REVEILLE_SEQUENCES'] ?? 1_000);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 3 * 60 * 60_000;

onEachDatabase('admission against its model', (database) => {
  const reveille = useReveille(() => TestReveille.start(database, {}, withoutGauges));

  it(
    'decides, stores and counts every sequence of wakes as the requirements say',
    async () => {
      const sequences = fc.commands(admissionCommands, { maxCommands: 12, size: 'max' });
      await fc.assert(
        fc.asyncProperty(sequences, async (commands) => {
          const model = new AdmissionModel(AGENTS);
          const world = await AdmissionWorld.make(reveille(), AGENTS);
          await fc.asyncModelRun(() => ({ model, real: world }), commands);
        }),
        { numRuns: SEQUENCES, endOnFailure: false },
      );
    },
    PATIENCE_MS,
  );
});
