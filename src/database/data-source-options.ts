import type { DataSourceOptions } from 'typeorm';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions.js';
import type { DatabaseTarget } from '../config/database-url.js';
import { SteadyClient } from './steady-client.js';

/** How long a statement may wait for SQLite's write lock, in milliseconds. */
const SQLITE_BUSY_MS = 10_000;

/** What a schema is made of: the entities above and the migrations that build their tables. */
export type SchemaOptions = Pick<DataSourceOptions, 'entities' | 'migrations'>;

const SHARED = {
  synchronize: false,
  migrationsRun: false,
  migrationsTableName: 'reveille_migrations',
  logging: false,
} as const;

/**
 * Session settings of every PostgreSQL connection. The timeouts bound how long one stuck neighbour can hold a caller:
 * a connection from the pool 10 s, a lock 5 s, a statement 30 s, an idle transaction 60 s.
 */
const POSTGRES_SESSION = {
  Client: SteadyClient,
  max: 20,
  connectionTimeoutMillis: 10_000,
  statement_timeout: 30_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 60_000,
  options: '-c default_transaction_isolation=read\\ committed',
  application_name: 'reveille',
};

function postgresOptions(url: string, schema: SchemaOptions): PostgresConnectionOptions {
  return { type: 'postgres', url, ...SHARED, ...schema, extra: POSTGRES_SESSION };
}

/** The one connection that writes. Write-ahead logging lets readers go on beside it. */
function sqliteWriterOptions(file: string, schema: SchemaOptions): SqliteConnectionOptions {
  return {
    type: 'sqlite',
    database: file,
    enableWAL: true,
    busyTimeout: SQLITE_BUSY_MS,
    ...SHARED,
    ...schema,
  };
}

/** `flags` is sqlite3's OPEN_READONLY, which the driver has as a number only once it is loaded. */
export function sqliteReaderOptions(file: string, schema: SchemaOptions): SqliteConnectionOptions {
  return { type: 'sqlite', database: file, flags: 1, busyTimeout: SQLITE_BUSY_MS, ...SHARED, ...schema };
}

/** The options of the DataSource that writes, for the server and for TypeORM's command line alike. */
export function dataSourceOptions(target: DatabaseTarget, schema: SchemaOptions): DataSourceOptions {
  if (target.kind === 'postgres') return postgresOptions(target.url, schema);
  return sqliteWriterOptions(target.file ?? ':memory:', schema);
}
