import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Dialect } from '../../src/database/dialect.js';
import { Transactions } from '../../src/database/transactions.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { type Outsider, asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { addOne, countOne, createTally, keys, lockOf } from '../support/tally.cjs';
import { until } from '../support/until.js';

const [FIRST_KEY = '', ...OTHER_KEYS] = keys;
const SAME_KEY = OTHER_KEYS.filter((key) => key === FIRST_KEY);
const FREE_KEYS = OTHER_KEYS.filter((key) => key !== FIRST_KEY);

onEachDatabase('contention', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const transactions = () => reveille().get(Transactions);
  const opened = () => ({ transactions: transactions(), dialect: reveille().get(Dialect) });

  beforeAll(() => createTally(transactions()));
  afterEach(() => transactions().run(() => transactions().writing().query('DELETE FROM tally')));

  const tally = async () => {
    const rows = await transactions().reading().query<{ count: number }[]>('SELECT count FROM tally');
    return { rows: rows.length, sum: rows.reduce((sum, { count }) => sum + count, 0) };
  };

  /** Somebody who has looked for the first key's row and has not yet written it. */
  const slowFirst = async () => {
    const hasLooked = new Gate();
    const mayWrite = new Gate();
    const counted = countOne(opened(), FIRST_KEY, () => {
      hasLooked.open();
      return mayWrite.passed;
    });
    await Promise.race([hasLooked.passed, counted]);
    const goOn = () => {
      mayWrite.open();
      return counted;
    };
    return { goOn };
  };

  it('counts 64 concurrent find-or-creates over 8 keys as 8 rows with a sum of 64', async () => {
    let entered = 0;
    const enter = () => {
      entered++;
    };
    const first = await slowFirst();
    const free = FREE_KEYS.map((key) => countOne(opened(), key, enter));
    const same = SAME_KEY.map((key) => countOne(opened(), key, enter));
    await asOutsider(reveille(), async (outsider) => {
      if (database === 'postgres') {
        // Whoever counts under another key passes; whoever counts under the same one stands at its lock.
        await Promise.all(free);
        await until('everybody else stands at the lock', () => waiting(outsider, SAME_KEY.length));
        expect(entered).toBe(FREE_KEYS.length);
      } else {
        // All of them wait for the writer's turn, and go on waiting while somebody else reads.
        await outsider.query('SELECT count(*) FROM tally');
        expect(entered).toBe(0);
      }
    });
    await first.goOn();
    await Promise.all([...free, ...same]);
    expect(await tally()).toEqual({ rows: 8, sum: 64 });
  });

  // SQLite has one writer whether anybody asks for a lock or not, and one process that may have it.
  if (database === 'sqlite') return;

  it('loses a count when the lock is not the first statement, so the lock is what the sum hangs on', async () => {
    await countOne(opened(), FIRST_KEY);
    const hasLooked = new Gate();
    const mayWrite = new Gate();
    const withoutLock = transactions().run(() =>
      addOne(transactions().writing(), FIRST_KEY, () => {
        hasLooked.open();
        return mayWrite.passed;
      }),
    );
    await Promise.race([hasLooked.passed, withoutLock]);
    await countOne(opened(), FIRST_KEY);
    mayWrite.open();
    await withoutLock;
    expect(await tally()).toEqual({ rows: 1, sum: 2 });
  });

  it('counts what two processes count at once as 8 rows with a sum of 128', async () => {
    const url = postgresUrl(reveille());
    const counters = await Promise.all([counter(url), counter(url)]);
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query('BEGIN');
      await outsider.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lockOf(FIRST_KEY)]);
      for (const { process } of counters) process.send('count');
      // More than one process alone has for that key.
      await until('both processes stand at the lock', () => waiting(outsider, SAME_KEY.length + 2));
      await outsider.query('COMMIT');
    });
    expect(await Promise.all(counters.map(({ exit }) => exit))).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await tally()).toEqual({ rows: 8, sum: 128 });
  });
});

// SQLite's connection lives in our own process; nobody else can end it.
describe('a PostgreSQL backend that is killed', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const transactions = () => reveille().get(Transactions);
  const workspaces = () => reveille().get(WorkspacesRepository);
  const insert = (id: string) => workspaces().insert({ id, name: id, createdAt: 0 });

  const isUnavailable = (error: unknown) => reveille().get(Dialect).isUnavailable(error);

  /** How a unit of work fails whose backend is killed after its first statement and before what is `left`. */
  const killedBefore = (left: () => Promise<unknown>) =>
    asOutsider(reveille(), (outsider) =>
      failureOf(
        transactions().run(async () => {
          await insert('lost');
          await kill(outsider, await backend(transactions()));
          await left();
        }),
      ),
    );

  const leftToDo: [string, () => Promise<unknown>][] = [
    ['a write', () => insert('lost too')],
    ['a read', () => workspaces().find('lost')],
    ['a plain statement', () => transactions().writing().query('SELECT 1')],
    ['a savepoint', () => transactions().savepoint(() => insert('lost too'))],
    ['its COMMIT', () => Promise.resolve()],
  ];

  it.each(leftToDo)('is reported as unavailable by what comes next: %s', async (_, left) => {
    expect(isUnavailable(await killedBefore(left))).toBe(true);
  });

  it('is reported as unavailable by the statement that it was at', async () => {
    const mayLock = new Gate();
    await asOutsider(reveille(), async (holder) => {
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE workspaces');
      let pid = 0;
      const failure = failureOf(
        transactions().run(async () => {
          pid = await backend(transactions());
          mayLock.open();
          await insert('lost');
        }),
      );
      await Promise.race([mayLock.passed, failure]);
      // Another one than the holder, who is in a transaction.
      await asOutsider(reveille(), async (outsider) => {
        await until('it waits for the table', () => isWaiting(outsider, pid));
        await kill(outsider, pid);
      });
      expect(isUnavailable(await failure)).toBe(true);
    });
  });

  it('leaves nothing of its transaction, and the next caller gets another one', async () => {
    await killedBefore(() => Promise.resolve());
    await transactions().run(() => insert('found'));
    expect(await workspaces().find('found')).not.toBeNull();
    expect(await workspaces().find('lost')).toBeNull();
  });

  it('is not handed out again when it was idle in the pool', async () => {
    const pid = await transactions().run(() => backend(transactions()));
    await asOutsider(reveille(), async (outsider) => {
      await kill(outsider, pid);
      // One more answer from the server, by which the news of the lost connection has arrived as well.
      await outsider.query('SELECT 1');
    });
    expect(await transactions().run(() => backend(transactions()))).not.toBe(pid);
  });
});

/** The error that the promise is rejected with; none when it is not. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise]);
  return settled.status === 'rejected' ? settled.reason : undefined;
}

async function backend(transactions: Transactions): Promise<number> {
  const [row] = await transactions.writing().query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
  return row?.pid ?? 0;
}

/** Ends a backend and waits until it is gone, by a client in no transaction: there the list of backends stands still. */
async function kill(outsider: Outsider, pid: number): Promise<void> {
  await outsider.query('SELECT pg_terminate_backend($1)', [pid]);
  await until('the backend is gone', async () =>
    (await outsider.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).length === 0
      ? true
      : undefined,
  );
}

async function isWaiting(outsider: Outsider, pid: number): Promise<true | undefined> {
  const rows = await outsider.query('SELECT 1 FROM pg_locks WHERE pid = $1 AND NOT granted', [pid]);
  return rows.length > 0 ? true : undefined;
}

/** Whether at least so many stand at advisory locks of this database. */
async function waiting(outsider: Outsider, count: number): Promise<true | undefined> {
  const rows = await outsider.query(`
    SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`);
  return rows.length >= count ? true : undefined;
}

/** A process that is ready to count. */
async function counter(url: string): Promise<{ process: ChildProcess; exit: Promise<unknown[]> }> {
  const process = fork(require.resolve('../support/tally-process.mjs'), [url], { execArgv: [] });
  const exit = once(process, 'exit');
  await Promise.race([once(process, 'message'), exit]);
  return { process, exit };
}
