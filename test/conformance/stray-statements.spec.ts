import { StrayStatementError } from '../../src/database/transactions.js';
import { WorkspaceSchema } from '../../src/workspaces/workspace.schema.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { unitsOf } from '../support/units.js';

// A writer that is never let go would keep every test after it waiting for its turn.
jest.setTimeout(10_000);

/** Keeps the connection for some milliseconds. */
const SLOW = `
  WITH RECURSIVE places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < 30000)
  SELECT count(*) FROM places`;

onEachDatabase('the edge of a unit of work', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const { transactions, insert, committed, openUnit } = unitsOf(reveille);

  it('refuses to write outside a unit of work what it writes inside', async () => {
    await expect(insert('astray')).rejects.toBeInstanceOf(StrayStatementError);
    expect(() => transactions().writing()).toThrow(StrayStatementError);
    expect(() => transactions().writingRunner()).toThrow(StrayStatementError);
    expect(await committed('astray')).toEqual([]);
    await transactions().run(() => insert('astray'));
    expect(await committed('astray')).toEqual(['astray']);
  });

  it('refuses what was started in a unit of work and writes when a stranger has the turn', async () => {
    const mayWrite = new Gate();
    let late: Promise<void> | undefined;
    await transactions().run(async () => {
      late = mayWrite.passed.then(() => insert('late'));
      await insert('punctual');
    });
    const stranger = await openUnit('host');
    mayWrite.open();
    await expect(late).rejects.toBeInstanceOf(StrayStatementError);
    await stranger.end();
    expect(await committed('punctual', 'host', 'late')).toEqual(['punctual', 'host']);
  });

  it('gives a unit of work of its own to what was started in one that has ended', async () => {
    const mayBegin = new Gate();
    let late: Promise<void> | undefined;
    await transactions().run(() => {
      late = mayBegin.passed.then(() => transactions().run(() => insert('on-its-own')));
      return Promise.resolve();
    });
    const stranger = await openUnit('unconcerned');
    mayBegin.open();
    await expect(stranger.end(new Error('rolled back'))).rejects.toThrow('rolled back');
    await late;
    expect(await committed('unconcerned', 'on-its-own')).toEqual(['on-its-own']);
  });

  it('refuses a manager that somebody has kept beyond its unit of work', async () => {
    const kept = await transactions().run(() => Promise.resolve(transactions().writing()));
    const stranger = await openUnit('successor');
    await expect(kept.insert(WorkspaceSchema, { id: 'kept', name: '', createdAt: 0 })).rejects.toThrow();
    await stranger.end();
    expect(await committed('successor', 'kept')).toEqual(['successor']);
  });

  /** How many turns of the microtask queue a write comes after the work has ended: from before COMMIT is sent to long after. */
  const moments = Array.from({ length: 40 }, (_, turns) => turns);

  it('undoes or refuses a write that nobody waits for, at whatever moment it comes', async () => {
    for (const moment of moments) {
      let late: Promise<unknown> | undefined;
      const unit = transactions().run(() => {
        const manager = transactions().writing();
        late = turnsFromNow(moment).then(() =>
          manager.insert(WorkspaceSchema, { id: `unawaited-${moment}`, name: '', createdAt: 0 }),
        );
        return Promise.reject(new Error('rolled back'));
      });
      await expect(unit).rejects.toThrow('rolled back');
      await late?.catch(() => undefined);
    }
    expect(await committed(...moments.map((moment) => `unawaited-${moment}`))).toEqual([]);
  });

  it('loses no write that it has accepted though nobody waits for it', async () => {
    const accepted: string[] = [];
    for (const moment of moments) {
      const id = `accepted-${moment}`;
      let late: Promise<unknown> | undefined;
      const unit = transactions().run(() => {
        const manager = transactions().writing();
        late = turnsFromNow(moment)
          .then(() => manager.insert(WorkspaceSchema, { id, name: '', createdAt: 0 }))
          .then(() => accepted.push(id));
        return Promise.resolve();
      });
      const stranger = transactions().run(async () => {
        await insert(`stranger-of-${id}`);
        throw new Error('the stranger rolls back');
      });
      await unit;
      await expect(stranger).rejects.toThrow('the stranger rolls back');
      await late?.catch(() => undefined);
    }
    expect(accepted).toContain('accepted-0');
    expect(await committed(...moments.map((moment) => `accepted-${moment}`))).toEqual(accepted);
  });

  // PostgreSQL gives such a statement a connection and a transaction of its own; nobody else is harmed by it.
  if (database === 'sqlite') {
    it('refuses a statement that goes to the one writing connection past the unit of work', async () => {
      const { manager } = await transactions().run(() =>
        Promise.resolve(transactions().writing().connection),
      );
      const stranger = await openUnit('undisturbed');
      const past = manager.insert(WorkspaceSchema, { id: 'past', name: '', createdAt: 0 });
      await expect(past).rejects.toBeInstanceOf(StrayStatementError);
      await expect(stranger.end(new Error('rolled back'))).rejects.toThrow('rolled back');
      expect(await committed('undisturbed', 'past')).toEqual([]);
    });

    // PostgreSQL's client sends statements in the order in which it is given them.
    it('undoes what is still on its way behind a slow statement when the work ends', async () => {
      const ids = Array.from({ length: 120 }, (_, place) => `on-its-way-${place}`);
      for (let round = 0; round < 40; round++) {
        const left: Promise<unknown>[] = [];
        const unit = transactions().run(() => {
          left.push(transactions().writing().query(SLOW));
          left.push(...ids.slice(3 * round, 3 * round + 3).map((id) => insert(id)));
          return Promise.reject(new Error('rolled back'));
        });
        await expect(unit).rejects.toThrow('rolled back');
        expect(await Promise.allSettled(left)).toHaveLength(4);
      }
      expect(await committed(...ids)).toEqual([]);
    });

    // On PostgreSQL a pooled connection reads; what is handed out for reading is able to write there.
    it('reads outside a unit of work through a connection that cannot write', async () => {
      const reader = transactions().reading();
      await expect(
        reader.insert(WorkspaceSchema, { id: 'by-reader', name: '', createdAt: 0 }),
      ).rejects.toThrow('SQLITE_READONLY');
    });
  }
});

async function turnsFromNow(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}
