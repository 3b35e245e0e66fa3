import { Transactions } from '../../src/database/transactions.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { TestReveille, useReveille } from '../support/reveille.js';

onEachDatabase('transactions', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const transactions = () => reveille().get(Transactions);
  const workspaces = () => reveille().get(WorkspacesRepository);
  const insert = (id: string) => workspaces().insert({ id, name: id, createdAt: 0 });

  it("keeps a neighbour's insert when a stranger rolls back", async () => {
    const strangerHasWritten = new Gate();
    const strangerMayFail = new Gate();
    const stranger = transactions().run(async () => {
      await insert('stranger');
      strangerHasWritten.open();
      await strangerMayFail.passed;
      throw new Error('the stranger changes its mind');
    });
    await strangerHasWritten.passed;
    const neighbour = transactions().run(() => insert('neighbour'));
    strangerMayFail.open();
    await expect(stranger).rejects.toThrow('changes its mind');
    await neighbour;
    expect(await workspaces().find('neighbour')).not.toBeNull();
    expect(await workspaces().find('stranger')).toBeNull();
  });
});
