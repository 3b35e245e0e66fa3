import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';

/** Every behaviour is shown on both. */
const DATABASES = ['sqlite', 'postgres'] as const;

export type DatabaseName = (typeof DATABASES)[number];

/** A database of a test's own. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Describes the same behaviour on SQLite and on PostgreSQL. */
export function onEachDatabase(title: string, tests: (database: DatabaseName) => void): void {
  describe.each(DATABASES)(`${title} on %s`, tests);
}

/** A fresh database: a private file, or a migrated copy on the shared server. */
export async function freshDatabase(name: DatabaseName): Promise<TestDatabase> {
  if (name === 'sqlite') return { url: 'sqlite::memory:', drop: () => Promise.resolve() };
  return freshPostgres('TEMPLATE reveille_template');
}

/** A database that outlives the server that uses it. */
export async function lastingDatabase(name: DatabaseName): Promise<TestDatabase> {
  if (name === 'postgres') return freshDatabase(name);
  const folder = await mkdtemp(join(tmpdir(), 'reveille-test-'));
  return { url: `sqlite:${join(folder, 'reveille.db')}`, drop: () => rm(folder, { recursive: true }) };
}

/** A PostgreSQL database without any of our tables. */
export function emptyPostgres(): Promise<TestDatabase> {
  return freshPostgres('');
}

/** A PostgreSQL database without our tables that orders texts as a dictionary does, and isolates more than we ask for. */
export async function peculiarPostgres(): Promise<TestDatabase> {
  const database = await freshPostgres(`TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`);
  const name = new URL(database.url).pathname.slice(1);
  await onServer(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  return database;
}

async function freshPostgres(from: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`CREATE DATABASE ${name} ${from}`);
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** Runs a statement outside of every database of the tests, and answers its rows. */
export async function onServer(statement: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return (await client.query<object>(statement)).rows;
  } finally {
    await client.end();
  }
}

function serverUrl(): string {
  const url = process.env['REVEILLE_TEST_POSTGRES'];
  if (url === undefined) throw new Error('The test run has started no PostgreSQL.');
  return url;
}
