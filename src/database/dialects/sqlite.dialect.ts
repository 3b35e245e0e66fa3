import {
  ConnectionIsNotSetError,
  type EntityManager,
  type ObjectLiteral,
  type SelectQueryBuilder,
} from 'typeorm';
import { causesOf } from '../../errors/causes.js';
import { Dialect, type UniqueIndex } from '../dialect.js';

/** The file is locked by another process, cannot be opened, cannot be read or has no room left. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|CANTOPEN|FULL|IOERR)/;

/** What the driver says of a file that was closed by ourselves. */
const CLOSED = 'SQLITE_MISUSE';

export class SqliteDialect extends Dialect {
  readonly name = 'sqlite';

  /** SQLite names the columns of the violated index instead of the index. */
  violates(error: unknown, index: UniqueIndex): boolean {
    const columns = index.columns.map((column) => `${index.table}.${column}`).join(', ');
    const message = `UNIQUE constraint failed: ${columns}`;
    return causesOf(error).some((cause) => cause instanceof Error && cause.message.endsWith(message));
  }

  isUnavailable(error: unknown): boolean {
    return this.isDisconnected(error) || causesOf(error).some((cause) => UNAVAILABLE.test(codeOf(cause)));
  }

  isDisconnected(error: unknown): boolean {
    return causesOf(error).some(
      (cause) => cause instanceof ConnectionIsNotSetError || codeOf(cause) === CLOSED,
    );
  }

  isLockTimeout(): boolean {
    return false;
  }

  async lock(): Promise<void> {
    // The one writer already excludes every other transaction.
  }

  forUpdate<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query;
  }

  forKeeping<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query;
  }

  forUpdateSkipLocked<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query;
  }

  /** The one writer keeps everybody else from adding meanwhile. */
  async takeAll(manager: EntityManager, table: string, column: string): Promise<string[]> {
    const rows = await manager.query<Record<string, string>[]>(`SELECT DISTINCT ${column} FROM ${table}`);
    if (rows.length > 0) await manager.query(`DELETE FROM ${table}`);
    return rows.flatMap((row) => row[column] ?? []);
  }

  now(): Promise<null> {
    return Promise.resolve(null);
  }
}

function codeOf(cause: unknown): string {
  return (cause as { code?: string }).code ?? '';
}
