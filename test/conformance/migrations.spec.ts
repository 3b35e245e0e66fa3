import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { parseDatabaseUrl } from '../../src/config/database-url.js';
import { dataSourceOptions } from '../../src/database/data-source-options.js';
import { migrate } from '../../src/database/migrate.js';
import { REVEILLE_SCHEMA } from '../../src/entities.js';
import {
  type DatabaseName,
  type TestDatabase,
  emptyPostgres,
  freshDatabase,
  onEachDatabase,
} from '../support/databases.js';
import { type Outsider, onPostgres } from '../support/outsider.js';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

// Four servers start in one second on a quiet machine, and in ten on a busy one.
jest.setTimeout(60_000);

/** The advisory lock under which a Reveille changes the schema. Were it another, no server would stand at it below. */
const MIGRATION_LOCK = 7_238_911;

const SHOW_LIMITS = `
  SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`;

const servers: ServerProcess[] = [];

async function serve(databaseUrl: string): Promise<ServerProcess> {
  const server = await ServerProcess.spawn({ DATABASE_URL: databaseUrl, WORKER: 'off' });
  servers.push(server);
  return server;
}

const serveFour = (databaseUrl: string) => Promise.all(Array.from({ length: 4 }, () => serve(databaseUrl)));

/** Whether the server says of itself that it can work: its database answers and has the newest schema. */
async function isReady(server: ServerProcess): Promise<boolean> {
  return (await fetch(`${await server.url()}/health/ready`)).ok;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.discard()));
});

// On one SQLite file there is never more than one server; the next block shows that.
describe('four servers that start at once on an empty PostgreSQL database', () => {
  it('all come up migrated, though each has waited for its turn', async () => {
    const database = await emptyPostgres();
    try {
      const started = await onPostgres(database.url, async (outsider) => {
        await outsider.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
        const four = await serveFour(database.url);
        await until('all four stand at the lock', () => areWaiting(outsider, four.length));
        return four;
      });
      expect(await Promise.all(started.map(isReady))).toEqual([true, true, true, true]);
      await onPostgres(database.url, async (outsider) => {
        const applied = await outsider.query('SELECT name FROM reveille_migrations ORDER BY id');
        expect(applied).toEqual(REVEILLE_SCHEMA.migrations.map(({ name }) => ({ name })));
      });
    } finally {
      await Promise.all(servers.splice(0).map((server) => server.discard()));
      await database.drop();
    }
  });
});

// PostgreSQL is served by as many as like.
describe('four servers that start at once on one SQLite file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'reveille-file-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('leave one that serves, and three that say which file is taken and what to do', async () => {
    const file = join(directory, 'office.db');
    const four = await serveFour(`sqlite:${file}`);
    const outcomes = await Promise.all(
      four.map((server) =>
        server.url().then(
          () => 'serves',
          () => server.exit,
        ),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome !== 'serves');
    expect(refused).toHaveLength(3);
    const message = `${file} is already served by another Reveille. One SQLite file has one server: stop the other one, or use PostgreSQL to run several.\n`;
    for (const exit of refused) expect(exit).toEqual({ code: 1, errorOutput: message });
    const survivor = four[outcomes.indexOf('serves')];
    expect(survivor && (await isReady(survivor))).toBe(true);
  });

  it('give way at once when the one that serves is killed', async () => {
    const url = `sqlite:${join(directory, 'office.db')}`;
    const holder = await serve(url);
    await holder.url();
    expect(await (await serve(url)).exit).toMatchObject({ code: 1 });
    holder.kill('SIGKILL');
    await holder.exit;
    expect(await isReady(await serve(url))).toBe(true);
  });
});

onEachDatabase('the schema', (name) => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await (name === 'sqlite' ? freshDatabase(name) : emptyPostgres());
    dataSource = new DataSource(dataSourceOptions(parseDatabaseUrl(database.url), REVEILLE_SCHEMA));
    await dataSource.initialize();
    await migrate(dataSource);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.1 AC-OFFICE-SESSION-IDENTITY-004.5 has no index over task_sessions but the three that are permitted, none of them unique, and no column for telling office rows', async () => {
    expect(await indexesOfSessions(dataSource)).toEqual([
      'id: unique',
      'state: not unique',
      'task_id, state: not unique',
      'task_id: not unique',
    ]);
    expect(await columnsOfSessions(dataSource)).toEqual([
      'agent_profile_id',
      'completed_at',
      'execution_profile_id',
      'executor_id',
      'id',
      'is_primary',
      'metadata',
      'started_at',
      'state',
      'task_id',
      'updated_at',
      'workspace_id',
    ]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.1 takes two live sessions of one pair from whoever writes them past the guard', async () => {
    for (const id of ['first', 'second']) {
      await dataSource.query(`
        INSERT INTO task_sessions
        VALUES ('${id}', 'task', 'workspace', 'agent', 'profile', NULL, 'RUNNING', '{}', false, 0, 0, NULL)`);
    }
    expect(await dataSource.query(`SELECT id FROM task_sessions WHERE task_id = 'task' ORDER BY id`)).toEqual(
      [{ id: 'first' }, { id: 'second' }],
    );
  });

  it('AC-OFFICE-WORKER-003.3 has the end of a lease in no index, so that a heartbeat updates nothing but its row', async () => {
    const indexes = (await objects(dataSource)).filter((what) => what.startsWith('index '));
    expect(indexes.some((what) => what.includes('scheduled_retry_at'))).toBe(true);
    expect(indexes.filter((what) => what.includes('lease_expires_at'))).toEqual([]);
  });

  it('AC-OFFICE-WORKER-001.2 refuses a second run of one agent that somebody holds, whoever writes it', async () => {
    const hold = (id: string, status: string, hash: string) =>
      dataSource.query(`
        INSERT INTO runs (id, workspace_id, agent_profile_id, reason, payload, status, coalesced_count, key_scope,
          requested_at, retry_count, attempt, claim_token_hash)
        VALUES ('${id}', 'workspace', 'agent', 'ping', '{}', '${status}', 1, '', 0, 0, 1, ${hash})`);
    await hold('claimed', 'claimed', 'NULL');
    await expect(hold('second', 'claimed', 'NULL')).rejects.toThrow(/unique/i);
    await expect(hold('cancelled', 'cancelled', `'not let go of'`)).rejects.toThrow(/unique/i);
    await dataSource.query('DELETE FROM runs');
  });

  // SQLite has no type for instants that a view could show.
  if (name === 'postgres') {
    it.each(['runs', 'task_sessions'])(
      'shows %s to people with their instants as timestamptz, and without secrets',
      async (table) => {
        const columns = async (of: string) =>
          dataSource.query<{ name: string; type: string }[]>(
            `SELECT column_name AS name, data_type AS type FROM information_schema.columns
           WHERE table_name = $1 AND column_name <> 'claim_token_hash' ORDER BY ordinal_position`,
            [of],
          );
        const shown = (await columns(table)).map((column) =>
          column.type === 'bigint' ? { ...column, type: 'timestamp with time zone' } : column,
        );
        expect(await columns(`${table}_readable`)).toEqual(shown);
        expect(shown.filter(({ type }) => type === 'timestamp with time zone').length).toBeGreaterThan(2);
        await expect(dataSource.query(`SELECT claim_token_hash FROM ${table}_readable`)).rejects.toThrow(
          'does not exist',
        );
      },
    );

    it('shows an instant to the millisecond', async () => {
      const at = Date.UTC(2026, 0, 1, 12, 30, 15, 123);
      await dataSource.query(`
        INSERT INTO task_sessions
        VALUES ('timed', 'timed', 'workspace', NULL, 'profile', NULL, 'CREATED', '{}', false, ${at}, ${at}, NULL)`);
      expect(
        await dataSource.query(`
        SELECT started_at = '2026-01-01T12:30:15.123Z' AS is_exact, completed_at
        FROM task_sessions_readable WHERE id = 'timed'`),
      ).toEqual([{ is_exact: true, completed_at: null }]);
    });
  }

  it('goes and comes back when every migration is reverted and run again', async () => {
    const before = await objects(dataSource);
    expect(before.length).toBeGreaterThan(20);
    for (let left = REVEILLE_SCHEMA.migrations.length; left > 0; left--) {
      await dataSource.undoLastMigration({ transaction: 'each' });
    }
    expect(await objects(dataSource)).toEqual([]);
    await migrate(dataSource);
    expect(await objects(dataSource)).toEqual(before);
    expect(await dataSource.query('SELECT id, CAST(last AS integer) AS last FROM event_sequence')).toEqual([
      { id: 1, last: 0 },
    ]);
  });
});

/** Notes what limits hold while it runs. */
class NotesItsLimits1790000000099 implements MigrationInterface {
  static seen: unknown;

  async up(runner: QueryRunner): Promise<void> {
    NotesItsLimits1790000000099.seen = await runner.query(SHOW_LIMITS);
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

// SQLite limits no statement.
describe('a migration on PostgreSQL', () => {
  it('may take its time, and leaves the usual limits behind', async () => {
    const database = await emptyPostgres();
    const options = dataSourceOptions(parseDatabaseUrl(database.url), {
      entities: [],
      migrations: [NotesItsLimits1790000000099],
    });
    const dataSource = await new DataSource(options).initialize();
    try {
      await migrate(dataSource);
      expect(NotesItsLimits1790000000099.seen).toEqual([{ statement: '0', lock: '0' }]);
      expect(await dataSource.query(SHOW_LIMITS)).toEqual([{ statement: '30s', lock: '5s' }]);
    } finally {
      await dataSource.destroy();
      await database.drop();
    }
  });
});

async function areWaiting(outsider: Outsider, count: number): Promise<true | undefined> {
  const rows = await outsider.query(
    `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
     WHERE datname = current_database() AND locktype = 'advisory' AND objid = $1 AND NOT granted`,
    [MIGRATION_LOCK],
  );
  return rows.length === count ? true : undefined;
}

/** The statements by which the two databases tell what they hold, without TypeORM's own table. */
const CATALOGUE = {
  sqlite: {
    columns: `SELECT name FROM pragma_table_info('task_sessions')`,
    indexes: `
      SELECT list."unique" AS is_unique, group_concat(info.name, ', ' ORDER BY info.seqno) AS keys
      FROM pragma_index_list('task_sessions') list, pragma_index_info(list.name) info
      GROUP BY list.name`,
    objects: `
      SELECT type || ' ' || sql AS what FROM sqlite_master
      WHERE sql IS NOT NULL AND name NOT IN ('reveille_migrations', 'sqlite_sequence')`,
  },
  postgres: {
    columns: `
      SELECT column_name AS name FROM information_schema.columns
      WHERE table_name = 'task_sessions'`,
    indexes: `
      SELECT indisunique AS is_unique, string_agg(attname, ', ' ORDER BY place) AS keys
      FROM pg_index, unnest(indkey) WITH ORDINALITY AS key(number, place), pg_attribute
      WHERE indrelid = 'task_sessions'::regclass AND attrelid = indrelid AND attnum = number
      GROUP BY indexrelid, indisunique`,
    objects: `
      SELECT what FROM (
        SELECT concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, collation_name) AS what
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT 'view ' || viewname || definition FROM pg_views WHERE schemaname = 'public'
      ) AS found WHERE what NOT LIKE '%reveille_migrations%'`,
  },
} satisfies Record<DatabaseName, Record<'columns' | 'indexes' | 'objects', string>>;

const catalogueOf = ({ options }: DataSource) =>
  CATALOGUE[options.type === 'postgres' ? 'postgres' : 'sqlite'];

async function columnsOfSessions(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ name: string }[]>(catalogueOf(dataSource).columns);
  return rows.map(({ name }) => name).sort();
}

async function indexesOfSessions(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ keys: string; is_unique: boolean | number }[]>(
    catalogueOf(dataSource).indexes,
  );
  return rows.map(({ keys, is_unique }) => `${keys}: ${is_unique ? 'unique' : 'not unique'}`).sort();
}

async function objects(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ what: string }[]>(catalogueOf(dataSource).objects);
  return rows.map(({ what }) => what).sort();
}
