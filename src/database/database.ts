import type { OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { sqliteReaderOptions } from './data-source-options.js';
import type { Dialect } from './dialect.js';
import { PostgresDialect } from './dialects/postgres.dialect.js';
import { SqliteDialect } from './dialects/sqlite.dialect.js';
import { migrate } from './migrate.js';
import { PostgresTransactions } from './postgres-transactions.js';
import { SqliteTransactions } from './sqlite-transactions.js';
import type { Transactions } from './transactions.js';

/** Enough to read while the writer writes; each costs a connection and a copy of the entity metadata. */
const SQLITE_READERS = 2;

/** The open database, ready to be used. */
export class Database implements OnApplicationShutdown {
  private constructor(
    readonly dialect: Dialect,
    readonly transactions: Transactions,
    private readonly writer: DataSource,
    private readonly readers: readonly DataSource[],
  ) {}

  /** Migrates when asked to, and opens the readers that SQLite needs beside its writer. */
  static async open(writer: DataSource, options: { migrate: boolean }): Promise<Database> {
    if (writer.options.type === 'postgres') {
      if (options.migrate) await migrate(writer);
      return new Database(new PostgresDialect(), new PostgresTransactions(writer), writer, []);
    }
    // An acknowledged wake survives the loss of power, not only of the process.
    await writer.query('PRAGMA synchronous = FULL');
    if (options.migrate) await migrate(writer);
    const readers = await openReaders(writer);
    return new Database(new SqliteDialect(), new SqliteTransactions(writer, readers), writer, readers);
  }

  /** Whether the schema still wants a migration. Throws when the database does not answer. */
  async isBehind(): Promise<boolean> {
    const applied = await this.transactions
      .reading()
      .query<{ name: string }[]>('SELECT name FROM reveille_migrations');
    const names = new Set(applied.map(({ name }) => name));
    return this.writer.migrations.some(({ name, constructor }) => !names.has(name ?? constructor.name));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.destroy()));
  }
}

async function openReaders(writer: DataSource): Promise<DataSource[]> {
  const { database, entities = [] } = writer.options;
  const options = sqliteReaderOptions(String(database), { entities });
  const readers = Array.from({ length: SQLITE_READERS }, () => new DataSource(options));
  return Promise.all(readers.map((reader) => reader.initialize()));
}
