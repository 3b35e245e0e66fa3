import { Transactions } from '../../src/database/transactions.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { Gate } from './gate.js';
import type { TestReveille } from './reveille.js';

/** Units of work that leave a row each, by whose id a test asks for it. */
export function unitsOf(reveille: () => TestReveille) {
  const transactions = () => reveille().get(Transactions);
  const workspaces = () => reveille().get(WorkspacesRepository);
  const insert = (id: string) => workspaces().insert({ id, name: id, createdAt: 0 });

  /** Those of the ids that everybody can see. */
  const committed = async (...ids: string[]) => {
    const found = await Promise.all(ids.map((id) => workspaces().find(id)));
    return ids.filter((_, index) => found[index] !== null);
  };

  /** A unit of work that has written and stays open until it is told how to end. */
  const openUnit = async (id: string) => {
    const hasWritten = new Gate();
    const mayEnd = new Gate();
    let failure: Error | undefined;
    const done = transactions().run(async () => {
      await insert(id);
      hasWritten.open();
      await mayEnd.passed;
      if (failure !== undefined) throw failure;
    });
    await Promise.race([hasWritten.passed, done]);
    const end = (error?: Error) => {
      failure = error;
      mayEnd.open();
      return done;
    };
    return { end };
  };

  return { transactions, insert, committed, openUnit };
}
