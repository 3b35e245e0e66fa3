import {
  type EntityManager,
  type ObjectLiteral,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
  type SelectQueryBuilder,
} from 'typeorm';
import { causesOf } from '../../errors/causes.js';
import { Dialect, type UniqueIndex } from '../dialect.js';

const UNIQUE_VIOLATION = '23505';

/** A lock timed out, or waiting for it would have been for ever. */
const LOCK_NOT_AVAILABLE = ['55P03', '40P01'];

/** Connection exceptions (08), shutdowns (57P), exhausted connections (53300), and what the socket itself reports. */
const UNAVAILABLE = /^(08...|57P0.|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/;
/** What the driver, its pool and TypeORM say without a code when a connection is lost, or was closed by ourselves. */
const UNAVAILABLE_WITHOUT_CODE =
  /Connection terminated|timeout exceeded when trying to connect|Client (has encountered|was closed)|after calling end on the pool|Driver not Connected/;

interface PostgresError {
  readonly code?: string;
  readonly constraint?: string;
  readonly message?: string;
}

export class PostgresDialect extends Dialect {
  readonly name = 'postgres';

  violates(error: unknown, index: UniqueIndex): boolean {
    return matches(error, ({ code, constraint }) => code === UNIQUE_VIOLATION && constraint === index.name);
  }

  isUnavailable(error: unknown): boolean {
    return matches(
      error,
      (found) =>
        found instanceof QueryRunnerAlreadyReleasedError ||
        found instanceof QueryRunnerProviderAlreadyReleasedError ||
        UNAVAILABLE.test(found.code ?? '') ||
        UNAVAILABLE_WITHOUT_CODE.test(found.message ?? ''),
    );
  }

  /** A server that cannot be reached has no connection left to it. */
  isDisconnected(error: unknown): boolean {
    return this.isUnavailable(error);
  }

  isLockTimeout(error: unknown): boolean {
    return matches(error, ({ code }) => LOCK_NOT_AVAILABLE.includes(code ?? ''));
  }

  async lock(manager: EntityManager, names: readonly string[]): Promise<void> {
    for (const name of names) {
      await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
    }
  }

  forUpdate<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query.setLock('pessimistic_write');
  }

  forKeeping<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query.setLock('for_key_share');
  }

  forUpdateSkipLocked<T extends ObjectLiteral>(query: SelectQueryBuilder<T>): SelectQueryBuilder<T> {
    return query.setLock('for_no_key_update', undefined, [query.alias]).setOnLocked('skip_locked');
  }

  async takeAll(manager: EntityManager, table: string, column: string): Promise<string[]> {
    const rows = await manager.query<Record<string, string>[]>(
      `WITH taken AS (DELETE FROM ${table} RETURNING ${column}) SELECT DISTINCT ${column} FROM taken`,
    );
    return rows.flatMap((row) => row[column] ?? []);
  }

  async now(manager: EntityManager): Promise<number> {
    const rows = await manager.query<{ now: string }[]>(
      'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
    );
    return Number(rows[0]?.now);
  }
}

function matches(error: unknown, test: (found: PostgresError) => boolean): boolean {
  return causesOf(error).some((cause) => typeof cause === 'object' && cause !== null && test(cause));
}
