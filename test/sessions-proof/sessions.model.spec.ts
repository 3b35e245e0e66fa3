import type { TestingModuleBuilder } from '@nestjs/testing';
import fc from 'fast-check';
import { RunGauges } from '../../src/runs/run-gauges.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { AGENTS, TASKS, sessionCommands } from './sessions-commands.js';
import { SessionsModel } from './sessions-model.js';
import { SessionsWorld } from './sessions-world.js';

/** How many sequences are tried on each database; the deep run asks for more. */
const SEQUENCES = Number(process.env['REVEILLE_SEQUENCES'] ?? 1_000);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 3 * 60 * 60_000;

onEachDatabase('sessions against their model', (database) => {
  const reveille = useReveille(() => TestReveille.start(database, {}, withoutGauges));

  it(
    'are found, made, moved, told of and counted in every sequence as the requirements say',
    async () => {
      const sequences = fc.commands(sessionCommands, { maxCommands: 12, size: 'max' });
      await fc.assert(
        fc.asyncProperty(sequences, async (commands) => {
          const model = new SessionsModel(TASKS);
          const world = await SessionsWorld.make(reveille(), TASKS, AGENTS);
          await fc.asyncModelRun(() => ({ model, real: world }), commands);
        }),
        { numRuns: SEQUENCES, endOnFailure: false },
      );
    },
    PATIENCE_MS,
  );
});

/** Every look at the counters would count all rows of all sequences for the gauges, which are not under test here. */
function withoutGauges(builder: TestingModuleBuilder): TestingModuleBuilder {
  const nothing = {
    counts: () => Promise.resolve({ queued: 0, claimed: 0 }),
    oldestQueuedAt: () => Promise.resolve(null),
    oldestDueAt: () => Promise.resolve(null),
  };
  return builder.overrideProvider(RunGauges).useValue(nothing);
}
