import type { TestingModuleBuilder } from '@nestjs/testing';
import fc from 'fast-check';
import { Transactions } from '../../src/database/transactions.js';
import { Randomness } from '../../src/random/randomness.js';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { adjusted } from './adjusted.js';
import { officeCommands } from './office-commands.js';
import { OfficeModel } from './office-model.js';
import { furnish } from './office-steps.js';
import { MAY_ASSIGN, OfficeWorld } from './office-world.js';

/** How many sequences are tried on each database; the deep run asks for more. */
const SEQUENCES = Number(process.env['REVEILLE_SEQUENCES'] ?? 1_000);

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 12 * 60 * 60_000;

onEachDatabase('an office against its model', (database) => {
  const reveille = useReveille(() => TestReveille.start(database, {}, withoutJitter));

  it(
    'wakes, stores and counts after every sequence of mutations as the specification says',
    async () => {
      const sequences = fc.commands(officeCommands, { maxCommands: 12, size: 'max' });
      await fc.assert(
        fc.asyncProperty(sequences, async (commands) => {
          const { model, world } = await aFurnishedOffice(reveille());
          await fc.asyncModelRun(() => ({ model, real: world }), commands);
          await world.expectCounters(model);
        }),
        { numRuns: SEQUENCES, endOnFailure: false },
      );
    },
    PATIENCE_MS,
  );
});

/** One transaction for all that only prepares a sequence, instead of waiting for the disk each time. */
async function aFurnishedOffice(reveille: TestReveille) {
  const { model, world } = await reveille.get(Transactions).run(async () => {
    await OfficeWorld.clear(reveille);
    const made = await OfficeWorld.make(reveille);
    const office = new OfficeModel(made.workspaceId, made.agents, MAY_ASSIGN);
    await furnish(office, made);
    return { model: office, world: made };
  });
  await world.expectEqual(model);
  return { model, world };
}

/** No delay is longer than the table has it. */
class NoChance extends Randomness {
  override fraction(): number {
    return 0;
  }
}

function withoutJitter(builder: TestingModuleBuilder): TestingModuleBuilder {
  return adjusted(builder).overrideProvider(Randomness).useClass(NoChance);
}
