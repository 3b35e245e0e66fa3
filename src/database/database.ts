import type { OnApplicationShutdown } from '@nestjs/common';
import type { ClientConfig } from 'pg';
import { DataSource } from 'typeorm';
import { isTemporary } from '../config/database-url.js';
import { type Channel, SilentChannel } from './channel.js';
import { sqliteReaderOptions } from './data-source-options.js';
import type { Dialect } from './dialect.js';
import { PostgresDialect } from './dialects/postgres.dialect.js';
import { SqliteDialect } from './dialects/sqlite.dialect.js';
import { migrate } from './migrate.js';
import { PostgresChannel } from './postgres-channel.js';
import { PostgresLine } from './postgres-line.js';
import { PostgresTransactions } from './postgres-transactions.js';
import { PostgresProcessLock, type ProcessLock, SoleProcessLock } from './process-lock.js';
import { SqliteTransactions } from './sqlite-transactions.js';
import type { Transactions } from './transactions.js';

/** Enough to read while the writer writes; each costs a connection and a copy of the entity metadata. */
const SQLITE_READERS = 2;

/** How this process stands to others that serve the same database, and what is open for it besides the writer. */
interface Neighbourhood {
  readonly channel: Channel;
  readonly processLock: ProcessLock;
  readonly close: () => Promise<void>;
}

/** The open database, ready to be used. */
export class Database implements OnApplicationShutdown {
  private constructor(
    readonly dialect: Dialect,
    readonly transactions: Transactions,
    private readonly writer: DataSource,
    private readonly among: Neighbourhood,
  ) {}

  /** How this process speaks to the others that serve the same database. */
  get channel(): Channel {
    return this.among.channel;
  }

  get processLock(): ProcessLock {
    return this.among.processLock;
  }

  /** Migrates when asked to, and opens the readers that SQLite needs beside its writer. */
  static async open(
    writer: DataSource,
    options: { readonly migrate: boolean; readonly databaseUrl: string },
  ): Promise<Database> {
    if (writer.options.type === 'postgres') {
      if (options.migrate) await migrate(writer);
      return new Database(
        new PostgresDialect(),
        new PostgresTransactions(writer),
        writer,
        await amongOthers(writer),
      );
    }
    // An acknowledged wake survives the loss of power, not only of the process, where its database outlives either.
    const level = isTemporary(options.databaseUrl) ? 'OFF' : 'FULL';
    await writer.query(`PRAGMA synchronous = ${level}`);
    if (options.migrate) await migrate(writer);
    const readers = await openReaders(writer);
    return new Database(new SqliteDialect(), new SqliteTransactions(writer, readers), writer, alone(readers));
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
    await this.among.close();
  }
}

function alone(readers: readonly DataSource[]): Neighbourhood {
  return {
    channel: new SilentChannel(),
    processLock: new SoleProcessLock(),
    close: async () => {
      await Promise.all(readers.map((reader) => reader.destroy()));
    },
  };
}

async function amongOthers(writer: DataSource): Promise<Neighbourhood> {
  // TypeORM says nothing of what its drivers are made of: this is pg's pool, which knows how to connect.
  const { master } = writer.driver as unknown as { master: { options: ClientConfig } };
  const line = new PostgresLine(master.options);
  const channel = new PostgresChannel(line);
  await line.open();
  return { channel, processLock: new PostgresProcessLock(line), close: () => line.close() };
}

async function openReaders(writer: DataSource): Promise<DataSource[]> {
  const { database, entities = [] } = writer.options;
  const options = sqliteReaderOptions(String(database), { entities });
  const readers = Array.from({ length: SQLITE_READERS }, () => new DataSource(options));
  return Promise.all(readers.map((reader) => reader.initialize()));
}
