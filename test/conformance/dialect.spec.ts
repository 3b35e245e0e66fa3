import { Dialect, primaryKeyOf } from '../../src/database/dialect.js';
import { Transactions } from '../../src/database/transactions.js';
import { EventLog } from '../../src/events/event-log.js';
import { EventSequenceSchema } from '../../src/events/event.schema.js';
import { RUN_KEY_INDEX, RUN_WAKE_KEY_INDEX } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { SessionsRepository } from '../../src/sessions/sessions.repository.js';
import { OPEN_PAUSE_INDEX, WorkspaceSchema } from '../../src/workspaces/workspace.schema.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { type TestDatabase, onEachDatabase, peculiarPostgres } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aPause, aRun, aSession, aWake } from '../support/rows.js';

onEachDatabase('the dialect', (database) => {
  // On PostgreSQL with settings of its own that ours have to prevail over. SQLite has none.
  let peculiar: TestDatabase | undefined;
  const reveille = useReveille(async () => {
    if (database === 'sqlite') return TestReveille.start(database);
    peculiar = await peculiarPostgres();
    return TestReveille.start(database, { databaseUrl: peculiar.url });
  });
  afterAll(() => peculiar?.drop());
  const transactions = () => reveille().get(Transactions);
  const dialect = () => reveille().get(Dialect);
  const workspaces = () => reveille().get(WorkspacesRepository);
  const runs = () => reveille().get(RunsRepository);
  const write = (work: () => Promise<unknown>) => transactions().run(work);

  /** The error with which the database refuses what is written for the second time. */
  const refusalOf = async (statement: () => Promise<unknown>): Promise<unknown> => {
    const [settled] = await Promise.allSettled([write(statement)]);
    return settled.status === 'rejected' ? settled.reason : undefined;
  };
  const refusalOfSecond = async (statement: () => Promise<unknown>): Promise<unknown> => {
    await write(statement);
    return refusalOf(statement);
  };

  describe('tells the violation of a unique index', () => {
    const indexes = [
      primaryKeyOf('workspaces'),
      primaryKeyOf('runs'),
      OPEN_PAUSE_INDEX,
      RUN_KEY_INDEX,
      RUN_WAKE_KEY_INDEX,
    ];
    let place = 0;
    const fresh = () => `fresh-${place++}`;
    const violations: [string, () => Promise<unknown>][] = [
      ['workspaces_pk', () => workspaces().insert({ id: 'twice', name: '', createdAt: 0 })],
      ['runs_pk', () => runs().insert(aRun({ id: 'twice', agentProfileId: fresh() }))],
      ['workspace_pauses_open', () => workspaces().insertPause(aPause({ id: fresh() }))],
      ['runs_key', () => runs().insert(aRun({ id: fresh(), idempotencyKey: 'twice' }))],
      ['run_wakes_key', () => runs().insertWake(aWake({ id: fresh(), idempotencyKey: 'twice' }))],
    ];

    it.each(violations)('from that of every other: %s', async (name, statement) => {
      const error = await refusalOfSecond(statement);
      expect(indexes.filter((index) => dialect().violates(error, index)).map((index) => index.name)).toEqual([
        name,
      ]);
    });

    it('through whatever the error was wrapped in', async () => {
      const error = await refusalOfSecond(() =>
        workspaces().insert({ id: 'wrapped', name: '', createdAt: 0 }),
      );
      const wrapped = new Error('outermost', { cause: new Error('in between', { cause: error }) });
      expect(dialect().violates(wrapped, primaryKeyOf('workspaces'))).toBe(true);
      expect(dialect().violates(wrapped, primaryKeyOf('runs'))).toBe(false);
    });

    it('from other refusals, from errors of ours and from none', async () => {
      const isNull = await refusalOf(() =>
        transactions().writing().query(`INSERT INTO workspaces (id, name, created_at) VALUES ('x', NULL, 0)`),
      );
      expect(String(isNull)).toMatch(/not.null/i);
      for (const error of [isNull, new Error('of ours'), undefined, null, 'a word']) {
        expect(indexes.some((index) => dialect().violates(error, index))).toBe(false);
        expect(dialect().isUnavailable(error)).toBe(false);
        expect(dialect().isLockTimeout(error)).toBe(false);
      }
    });
  });

  it('compares ids byte by byte, whatever order the database itself prefers', async () => {
    const ids = [
      'a',
      'B',
      '_',
      'Z',
      'z',
      'A',
      'b',
      '-',
      '.',
      '0',
      '10',
      '9',
      'a b',
      'ab',
      'é',
      'ß',
      '\u{FFFD}',
      '\u{1F600}',
    ];
    await write(async () => {
      for (const id of ids) await workspaces().insert({ id: `order:${id}`, name: '', createdAt: 0 });
    });
    const ordered = ids
      .map((id) => `order:${id}`)
      .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    expect(ordered).not.toEqual([...ordered].sort(new Intl.Collator('en').compare));

    const found: string[] = [];
    for (let after = 'order:'; found.length < ids.length; after = found.at(-1) ?? '') {
      const [next] = await workspaces().page(after, 1);
      found.push(next?.id ?? 'none');
    }
    expect(found).toEqual(ordered);
  });

  it('brings integers beyond 32 bits back as the numbers they were', async () => {
    const instants = [Number.MAX_SAFE_INTEGER, 2 ** 31, 2 ** 32 + 1, -(2 ** 40), 0];
    await write(async () => {
      for (const [index, createdAt] of instants.entries())
        await workspaces().insert({ id: `at-${index}`, name: '', createdAt });
    });
    const found = await Promise.all(instants.map((_, index) => workspaces().find(`at-${index}`)));
    expect(found.map((workspace) => workspace?.createdAt)).toEqual(instants);
  });

  it('goes on numbering events beyond 32 bits', async () => {
    await write(() =>
      transactions()
        .writing()
        .update(EventSequenceSchema, { id: 1 }, { last: 2 ** 40 }),
    );
    const log = reveille().get(EventLog);
    await write(() => log.append({ type: 'task.created', workspaceId: 'far', subject: {} }));
    expect((await log.after('far', 2 ** 40, 10)).map(({ number }) => number)).toEqual([2 ** 40 + 1]);
    expect(await log.latest()).toBe(2 ** 40 + 1);
  });

  const texts = [
    '',
    `it's "quoted" \`so\``,
    'back\\slash \\u0041 \\n',
    '$1 ? :name @p %_ --',
    `'; DROP TABLE workspaces; --`,
    'line\nbreak\r\n\ttab',
    '😀 𝒳 👩‍👩‍👧 e\u0301 é',
    'مرحبا İıſß',
    'x'.repeat(100_000),
  ];

  it.each(texts.map((text) => [text.slice(0, 40), text]))(
    'brings a text back as it was: %j',
    async (_, text) => {
      const id = `text:${text}`.slice(0, 200);
      await write(() => workspaces().insert({ id, name: text, createdAt: 0 }));
      expect(await workspaces().find(id)).toEqual({ id, name: text, createdAt: 0 });
    },
  );

  it('brings JSON back as it was, also what a text column could not hold as it is', async () => {
    const metadata = {
      texts,
      'key "quoted"': { nul: 'a\u0000b', half: '\uD83D', none: null, number: 1e21, yes: true },
    };
    const session = aSession({ id: 'with-json', metadata });
    await write(() => reveille().get(SessionsRepository).insert(session));
    expect(await reveille().get(SessionsRepository).find('with-json')).toEqual(session);
  });

  it('deletes what was merged in a run together with it, whoever deletes the run', async () => {
    await write(async () => {
      for (const runId of ['deleted', 'kept']) {
        await runs().insert(aRun({ id: runId }));
        for (const place of [1, 2]) await runs().insertWake(aWake({ id: `${runId}-${place}`, runId }));
      }
    });
    await asOutsider(reveille(), (outsider) => outsider.query(`DELETE FROM runs WHERE id = 'deleted'`));
    expect(await runs().wakesOf('deleted', 10)).toEqual([]);
    expect((await runs().wakesOf('kept', 10)).map(({ id }) => id)).toEqual(['kept-1', 'kept-2']);
  });

  if (database === 'sqlite') {
    // Only here does every writer want the same lock, and only here can it be held by another program.
    it('recognises a database that is locked by somebody else as unavailable', async () => {
      await write(() => transactions().writing().query('PRAGMA busy_timeout = 0'));
      await asOutsider(reveille(), async (outsider) => {
        await outsider.query('BEGIN IMMEDIATE');
        const error = await refusalOf(() => Promise.resolve());
        expect(dialect().isUnavailable(error)).toBe(true);
        expect(dialect().isUnavailable(new Error('wrapped', { cause: error }))).toBe(true);
      });
    });

    it('leaves the time to the clock of this process, where there is no other', async () => {
      expect(await dialect().now(transactions().reading())).toBeNull();
    });
    return;
  }

  // From here on: what SQLite has no word for, or, with its one writer in one process, no need of.

  it('empties the ledger of merged wakes together with the runs', async () => {
    await write(async () => {
      await runs().insert(aRun({ id: 'truncated' }));
      await runs().insertWake(aWake({ id: 'truncated-1', runId: 'truncated' }));
    });
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query('TRUNCATE runs');
      expect(await outsider.query('SELECT id FROM run_wakes')).toEqual([]);
    });
  });

  it('takes the time from the server, in whole milliseconds', async () => {
    const serverNow = () =>
      asOutsider(reveille(), async (outsider) => {
        const [row] = await outsider.query<{ now: number }>(
          'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
        );
        return row?.now ?? 0;
      });
    const before = await serverNow();
    const now = (await dialect().now(transactions().reading())) ?? 0;
    const after = await serverNow();
    expect(now).toBe(Math.floor(now));
    expect(now).toBeGreaterThanOrEqual(Math.floor(before));
    expect(now).toBeLessThanOrEqual(Math.ceil(after));
  });

  it('prevails over an order and an isolation that the database has by default', async () => {
    const [isolation] = await transactions().run(() =>
      transactions().writing().query<unknown[]>('SHOW transaction_isolation'),
    );
    expect(isolation).toEqual({ transaction_isolation: 'read committed' });
    await asOutsider(reveille(), async (outsider) => {
      const [defaults] = await outsider.query(`
        SELECT current_setting('transaction_isolation') AS isolation, 'a' < 'B' AS is_dictionary`);
      expect(defaults).toEqual({ isolation: 'serializable', is_dictionary: true });
    });
  });

  it('recognises a lock that is not to be had in time, which is not a database that is unavailable', async () => {
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query('BEGIN');
      await outsider.query(`SELECT pg_advisory_xact_lock(hashtextextended('taken', 0))`);
      const wait = (name: string) => async () => {
        await transactions().writing().query(`SET LOCAL lock_timeout = '1ms'`);
        await dialect().lock(transactions().writing(), ['free', name]);
      };
      const error = await refusalOf(wait('taken'));
      expect(dialect().isLockTimeout(error)).toBe(true);
      expect(dialect().isUnavailable(error)).toBe(false);
      expect(await refusalOf(wait('free too'))).toBeUndefined();
    });
  });

  it('recognises a lock that could be waited for until the end of days as one that is not to be had', async () => {
    const firstHolds = new Gate();
    const secondHolds = new Gate();
    const take = async (own: string, holds: Gate, otherHolds: Gate, other: string) => {
      await transactions().writing().query(`SET LOCAL deadlock_timeout = '10ms'`);
      await dialect().lock(transactions().writing(), [own]);
      holds.open();
      await otherHolds.passed;
      await dialect().lock(transactions().writing(), [other]);
    };
    const errors = await Promise.all([
      refusalOf(() => take('one', firstHolds, secondHolds, 'other')),
      refusalOf(() => take('other', secondHolds, firstHolds, 'one')),
    ]);
    // Whoever is refused lets go, and the other one gets what it wants.
    expect(errors.filter((error) => error === undefined)).toHaveLength(1);
    expect(errors.filter((error) => dialect().isLockTimeout(error))).toHaveLength(1);
  });

  it('passes over the rows that somebody holds, and finds them once they are let go', async () => {
    await write(async () => {
      for (const id of ['skip-1', 'skip-2']) await workspaces().insert({ id, name: 'skip', createdAt: 0 });
    });
    const take = async (limit: number) => {
      const query = transactions()
        .writing()
        .createQueryBuilder(WorkspaceSchema, 'workspace')
        .where(`workspace.name = 'skip'`)
        .orderBy('workspace.id')
        .limit(limit);
      return (await dialect().forUpdateSkipLocked(query).getMany()).map(({ id }) => id);
    };
    const holds = new Gate();
    const mayLetGo = new Gate();
    const holder = transactions().run(async () => {
      const taken = await take(1);
      holds.open();
      await mayLetGo.passed;
      return taken;
    });
    await Promise.race([holds.passed, holder]);
    expect(await transactions().run(() => take(2))).toEqual(['skip-2']);
    mayLetGo.open();
    expect(await holder).toEqual(['skip-1']);
    expect(await transactions().run(() => take(2))).toEqual(['skip-1', 'skip-2']);
  });
});
