import type { DataSource, EntityManager } from 'typeorm';
import { Transactions } from './transactions.js';

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
    try {
      await runner.startTransaction();
      const result = await work(runner.manager);
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
