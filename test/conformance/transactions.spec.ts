import type { LoggerService } from '@nestjs/common';
import { Dialect } from '../../src/database/dialect.js';
import { Transactions } from '../../src/database/transactions.js';
import { onEachDatabase, onServer } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { type Statement, intercepting } from '../support/statements.js';
import { unitsOf } from '../support/units.js';
import { until } from '../support/until.js';

// A writer that is never let go would keep every test after it waiting for its turn.
jest.setTimeout(10_000);

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
  const { transactions, insert, committed, openUnit } = unitsOf(reveille);

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

    // On PostgreSQL a transaction that cannot be ended goes with its connection.
    if (database === 'sqlite') {
      it('serves the caller after the next one when even a ROLLBACK has failed', async () => {
        const unanswerable = ({ sql, parameters }: Statement) => ({
          sql: sql === 'ROLLBACK' ? 'SELECT nothing FROM nowhere' : sql,
          parameters,
        });
        await intercepting(reveille(), unanswerable, async () => {
          const unit = transactions().run(async () => {
            await insert('left-open');
            throw new Error('the first error');
          });
          await expect(unit).rejects.toThrow('the first error');
        });
        // This one finds the transaction open, and ends it.
        await Promise.allSettled([transactions().run(() => insert('finds-it-open'))]);
        await transactions().run(() => insert('finds-nothing'));
        expect(await committed('left-open', 'finds-it-open', 'finds-nothing')).toEqual(['finds-nothing']);
      });
    }

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
