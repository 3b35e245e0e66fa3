import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { StrayStatementError, Transactions, endsTransaction } from './transactions.js';

/** A statement failed, nobody minded, and so PostgreSQL has rolled back what the work took for done. */
class AbortedTransactionError extends Error {
  constructor() {
    super('A statement of this unit of work failed without ending it: nothing has been committed.');
  }
}

/** A pooled QueryRunner for each transaction; the session's own defaults make it read committed. */
export class PostgresTransactions extends Transactions {
  constructor(private readonly dataSource: DataSource) {
    super();
  }

  protected snapshot(): EntityManager {
    return this.dataSource.manager;
  }

  protected async transact<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    const close = guard(runner);
    try {
      await runner.startTransaction();
      const result = await work(runner.manager).finally(close);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      // A connection that is gone has rolled back by itself; the first error is the one that explains.
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      if (!runner.isReleased) await runner.release();
    }
  }
}

/** Answers what shuts the runner to everything but the end of its transaction. */
function guard(runner: QueryRunner): () => void {
  const send = runner.query.bind(runner) as (...statement: unknown[]) => Promise<unknown>;
  let open = true;
  const guarded = (sql: string, ...rest: unknown[]): Promise<unknown> => {
    if (!open && !endsTransaction(sql)) throw new StrayStatementError();
    return sql === 'COMMIT' && !runner.isReleased ? commit(runner) : send(sql, ...rest);
  };
  Object.assign(runner, { query: guarded });
  return () => {
    open = false;
  };
}

/** PostgreSQL answers the COMMIT of a transaction that has failed with a ROLLBACK, and with no error. */
async function commit(runner: QueryRunner): Promise<void> {
  const client = (await runner.connect()) as { query(sql: string): Promise<{ command: string }> };
  const { command } = await client.query('COMMIT');
  if (command !== 'COMMIT') throw new AbortedTransactionError();
}
