import type { LoggerService } from '@nestjs/common';
import { Dialect } from '../../src/database/dialect.js';
import { StrayStatementError, Transactions } from '../../src/database/transactions.js';
import { WorkspaceSchema } from '../../src/workspaces/workspace.schema.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { onEachDatabase, onServer } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

/** What a caller hears who cannot begin a transaction. */
const REFUSAL = {
  sqlite: 'SQLITE_BUSY: database is locked',
  postgres: /not currently accepting connections|terminating connection|Connection terminated/,
};

onEachDatabase('transactions', (database) => {
  const complaints: unknown[] = [];
  const reveille = useReveille(() =>
    TestReveille.start(database, {}, (builder) => builder.setLogger(loggerInto(complaints))),
  );
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

  describe('isolation', () => {
    it("keeps a neighbour's insert when a stranger rolls back", async () => {
      const stranger = await openUnit('stranger');
      const neighbour = transactions().run(() => insert('neighbour'));
      await expect(stranger.end(new Error('changes its mind'))).rejects.toThrow('changes its mind');
      await neighbour;
      expect(await committed('neighbour', 'stranger')).toEqual(['neighbour']);
    });

    it('shows a row outside once it is committed, and inside before', async () => {
      const hasLooked = new Gate();
      const seenInside = new Gate();
      const unit = transactions().run(async () => {
        await insert('unborn');
        expect(await committed('unborn')).toEqual(['unborn']);
        seenInside.open();
        await hasLooked.passed;
      });
      await Promise.race([seenInside.passed, unit]);
      expect(await committed('unborn')).toEqual([]);
      hasLooked.open();
      await unit;
      expect(await committed('unborn')).toEqual(['unborn']);
    });

    it('undoes everything when a nested unit of work has joined one that rolls back', async () => {
      const unit = transactions().run(async () => {
        await insert('outer');
        await transactions().run(() => insert('inner'));
        throw new Error('after both');
      });
      await expect(unit).rejects.toThrow('after both');
      expect(await committed('outer', 'inner')).toEqual([]);
    });

    it('commits a nested unit of work together with the one that it has joined', async () => {
      const unit = await transactions().run(async () => {
        await insert('outer-kept');
        const manager = await transactions().run(async () => {
          await insert('inner-kept');
          return transactions().writing();
        });
        expect(manager).toBe(transactions().writing());
        return 'what the work returns';
      });
      expect(unit).toBe('what the work returns');
      expect(await committed('outer-kept', 'inner-kept')).toEqual(['outer-kept', 'inner-kept']);
    });
  });

  describe('stray statements', () => {
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

      // On PostgreSQL a pooled connection reads; what is handed out for reading is able to write there.
      it('reads outside a unit of work through a connection that cannot write', async () => {
        const reader = transactions().reading();
        await expect(
          reader.insert(WorkspaceSchema, { id: 'by-reader', name: '', createdAt: 0 }),
        ).rejects.toThrow('SQLITE_READONLY');
      });
    }
  });

  describe('effects after commit', () => {
    it('run once the row is there for everybody, outside of the transaction', async () => {
      let insideThen: boolean | undefined;
      let seenThen: Promise<string[]> | undefined;
      await transactions().run(async () => {
        await insert('reported');
        transactions().afterCommit(() => {
          insideThen = transactions().inside;
          seenThen = committed('reported');
        });
        expect(transactions().inside).toBe(true);
        expect(seenThen).toBeUndefined();
      });
      expect(insideThen).toBe(false);
      expect(await seenThen).toEqual(['reported']);
    });

    it('wait for the outermost commit, and keep their order', async () => {
      const effects: string[] = [];
      await transactions().run(async () => {
        transactions().afterCommit(() => effects.push('first'));
        await transactions().run(() => {
          transactions().afterCommit(() => effects.push('second'));
          return Promise.resolve();
        });
        expect(effects).toEqual([]);
      });
      expect(effects).toEqual(['first', 'second']);
    });

    it('never run when the transaction rolls back', async () => {
      const effects: string[] = [];
      const unit = transactions().run(async () => {
        transactions().afterCommit(() => effects.push('too early'));
        await insert('unreported');
        throw new Error('no commit');
      });
      await expect(unit).rejects.toThrow('no commit');
      expect(effects).toEqual([]);
    });

    it('run at once when no unit of work is open', () => {
      const effects: string[] = [];
      transactions().afterCommit(() => effects.push('at once'));
      expect(effects).toEqual(['at once']);
    });

    it('do not fail the caller or one another', async () => {
      const effects: string[] = [];
      const unit = transactions().run(async () => {
        await insert('lucky');
        transactions().afterCommit(() => {
          throw new Error('this effect fails');
        });
        transactions().afterCommit(() => effects.push('the next one'));
      });
      await expect(unit).resolves.toBeUndefined();
      expect(effects).toEqual(['the next one']);
      expect(complaints).toEqual([{ error: 'Error: this effect fails' }]);
      expect(await committed('lucky')).toEqual(['lucky']);
    });
  });

  describe('savepoints', () => {
    it('undo only their own statements, also when the database has refused one of them', async () => {
      await transactions().run(async () => {
        await insert('before');
        const step = transactions().savepoint(async () => {
          await insert('undone');
          await insert('before');
        });
        await expect(step).rejects.toThrow();
        await insert('after');
      });
      expect(await committed('before', 'undone', 'after')).toEqual(['before', 'after']);
    });

    it('keep what succeeds, and answer with it', async () => {
      const answer = await transactions().run(() =>
        transactions().savepoint(async () => {
          await insert('step');
          return 'what the step returns';
        }),
      );
      expect(answer).toBe('what the step returns');
      expect(await committed('step')).toEqual(['step']);
    });

    it('nest: the inner one undoes its part, the outer one everything since it began', async () => {
      await transactions().run(async () => {
        await insert('level-0');
        await transactions().savepoint(async () => {
          await insert('level-1');
          await undo(() => insert('level-2'));
          await insert('level-1-again');
        });
        await undo(async () => {
          await insert('other-1');
          await transactions().savepoint(() => insert('other-2'));
        });
      });
      expect(await committed('level-0', 'level-1', 'level-2', 'level-1-again', 'other-1', 'other-2')).toEqual(
        ['level-0', 'level-1', 'level-1-again'],
      );
    });

    it('take the effects of what they undo along, and no others', async () => {
      const effects: string[] = [];
      await transactions().run(async () => {
        transactions().afterCommit(() => effects.push('before'));
        await undo(() => {
          transactions().afterCommit(() => effects.push('undone'));
          return Promise.resolve();
        });
        transactions().afterCommit(() => effects.push('after'));
      });
      expect(effects).toEqual(['before', 'after']);
    });

    /** A step that does its work and then fails. */
    const undo = async (work: () => Promise<void>) => {
      const step = transactions().savepoint(async () => {
        await work();
        throw new Error('the step fails');
      });
      await expect(step).rejects.toThrow('the step fails');
    };
  });

  describe('after a failure of the database', () => {
    it('answers success only when everything that it accepted is committed', async () => {
      await transactions().run(() => insert('taken'));
      const [unit] = await Promise.allSettled([
        transactions().run(async () => {
          await insert('accepted');
          await insert('taken').catch(() => undefined);
        }),
      ]);
      expect(await committed('accepted')).toEqual(unit.status === 'fulfilled' ? ['accepted'] : []);
    });

    it('serves the next caller when a COMMIT has failed, and keeps nothing of that transaction', async () => {
      await transactions().run(async () => {
        await transactions().writing().query('CREATE TABLE parents (id integer PRIMARY KEY)');
        await transactions().writing().query(`
          CREATE TABLE children (parent integer REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)`);
      });
      const effects: string[] = [];
      const orphaned = transactions().run(async () => {
        await insert('with-the-orphan');
        transactions().afterCommit(() => effects.push('told'));
        // Nobody looks for the parent before the COMMIT.
        await transactions().writing().query('INSERT INTO children (parent) VALUES (1)');
      });
      await expect(orphaned).rejects.toThrow(/foreign key/i);
      await transactions().run(() => insert('the-next'));
      expect(await committed('with-the-orphan', 'the-next')).toEqual(['the-next']);
      expect(effects).toEqual([]);
    });

    it('serves the next caller when a BEGIN has failed', async () => {
      await withoutTransactions(reveille(), async () => {
        await expect(transactions().run(() => insert('never-begun'))).rejects.toThrow(REFUSAL[database]);
      });
      await transactions().run(() => insert('begun'));
      expect(await committed('never-begun', 'begun')).toEqual(['begun']);
    });
  });
});

/** While `work` goes on, nobody can begin a transaction: the write lock, or the way to the database, is taken. */
async function withoutTransactions(reveille: TestReveille, work: () => Promise<void>): Promise<void> {
  const transactions = reveille.get(Transactions);
  if (reveille.get(Dialect).name === 'postgres') return whileClosed(postgresUrl(reveille), work);
  // With its usual patience the writer would wait ten seconds for the lock.
  await transactions.run(() => transactions.writing().query('PRAGMA busy_timeout = 0'));
  await asOutsider(reveille, async (outsider) => {
    await outsider.query('BEGIN IMMEDIATE');
    await work();
  });
}

/** A database that takes no new connections, and from which the old ones are cut off. */
async function whileClosed(url: string, work: () => Promise<void>): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  await onServer(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  const connected = `FROM pg_stat_activity WHERE datname = '${database}'`;
  await onServer(`SELECT pg_terminate_backend(pid) ${connected}`);
  await until('nobody is connected', async () =>
    (await onServer(`SELECT 1 ${connected}`)).length === 0 ? true : undefined,
  );
  try {
    await work();
  } finally {
    await onServer(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  }
}

/** Keeps what is logged as an error, instead of writing it between the results of the tests. */
function loggerInto(complaints: unknown[]): LoggerService {
  const quiet = () => undefined;
  return {
    log: quiet,
    warn: quiet,
    debug: quiet,
    verbose: quiet,
    error: (message) => complaints.push(message),
  };
}

async function turnsFromNow(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}
