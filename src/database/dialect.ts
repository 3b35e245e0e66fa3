import type { EntityManager, ObjectLiteral, SelectQueryBuilder } from 'typeorm';

/** A unique index as its owner declares it, so that a violation can be told from every other constraint. */
export interface UniqueIndex {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
}

/** The primary key of a table whose rows have an `id`, as the migrations name it. */
export function primaryKeyOf(table: string): UniqueIndex {
  return { name: `${table}_pk`, table, columns: ['id'] };
}

/** Everything on which the two databases differ. What is not listed here is the same on both. */
export abstract class Dialect {
  abstract readonly name: 'sqlite' | 'postgres';

  /** Whether `error`, or a cause of it, is the violation of exactly this index. */
  abstract violates(error: unknown, index: UniqueIndex): boolean;

  /** Whether `error`, or a cause of it, says that the database cannot be reached or is going away. */
  abstract isUnavailable(error: unknown): boolean;

  /** Whether `error`, or a cause of it, says that the connection is gone, so that nothing more can be asked or written on it. */
  abstract isDisconnected(error: unknown): boolean;

  /** Whether `error`, or a cause of it, says that a lock was not to be had in time, or not without a deadlock. */
  abstract isLockTimeout(error: unknown): boolean;

  /**
   * Takes the named locks until the transaction ends, in the order given.
   *
   * SQLite has one writer, which holds every lock there is.
   */
  abstract lock(manager: EntityManager, names: readonly string[]): Promise<void>;

  /** Locks the rows that the query finds, waiting for whoever holds them. */
  abstract forUpdate<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T>;

  /** Keeps whoever would lock the rows that the query finds by {@link forUpdate} waiting, and nobody else. */
  abstract forKeeping<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T>;

  /** Locks the rows that the query finds, passing over those that somebody holds; whoever only keeps them does not. */
  abstract forUpdateSkipLocked<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T>;

  /** Empties a table of one column that others go on adding to, and answers every value that was taken out, once. */
  abstract takeAll(manager: EntityManager, table: string, column: string): Promise<string[]>;

  /** The instant that leases are set and judged by: null where the application's clock is as good. */
  abstract now(manager: EntityManager): Promise<number | null>;
}
