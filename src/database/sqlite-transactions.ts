import { AsyncLocalStorage } from 'node:async_hooks';
import { Mutex } from 'async-mutex';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { StrayStatementError, Transactions, endsTransaction } from './transactions.js';

/**
 * One writer that takes turns, and read-only readers beside it.
 *
 * Every QueryRunner of a TypeORM DataSource on SQLite is the same object on the same connection, so two transactions
 * at once would share one; hence the mutex around whole transactions, and hence the check that every statement on the
 * writer comes from the transaction whose turn it is.
 */
export class SqliteTransactions extends Transactions {
  private readonly turn = new Mutex();
  private readonly holder = new AsyncLocalStorage<symbol>();
  private readonly runner: QueryRunner;
  private readonly sent = new Set<Promise<unknown>>();
  private owner: symbol | null = null;
  private ending = false;
  private nextReader = 0;

  constructor(
    writer: DataSource,
    private readonly readers: readonly DataSource[],
  ) {
    super();
    this.runner = writer.createQueryRunner();
    this.guardWriter();
  }

  protected snapshot(): EntityManager {
    const reader = this.readers[this.nextReader++ % this.readers.length];
    if (reader === undefined) throw new Error('SQLite needs at least one reader.');
    return reader.manager;
  }

  protected transact<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.turn.runExclusive(() => {
      const owner = Symbol('owner');
      return this.holder.run(owner, () => this.ownedBy(owner, work));
    });
  }

  private async ownedBy<T>(owner: symbol, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    this.owner = owner;
    this.ending = false;
    try {
      await this.begin();
      const result = await work(this.runner.manager).finally(() => this.closeWork());
      await this.runner.commitTransaction();
      return result;
    } catch (error) {
      if (this.runner.isTransactionActive) await this.rollback();
      throw error;
    } finally {
      this.owner = null;
    }
  }

  /** The driver keeps statements in no order: those that are on their way must arrive before the transaction's end. */
  private async closeWork(): Promise<void> {
    this.ending = true;
    await Promise.allSettled(this.sent);
  }

  /**
   * A BEGIN that is refused leaves TypeORM believing in a transaction that does not exist. Should one still be open that
   * could not be ended, it is ended now: nobody has been told that it was committed.
   */
  private async begin(): Promise<void> {
    try {
      await this.runner.startTransaction();
    } catch (error) {
      this.forgetTransaction();
      await this.runner.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** SQLite ends some failed transactions by itself, and then refuses the ROLLBACK. */
  private async rollback(): Promise<void> {
    try {
      await this.runner.rollbackTransaction();
    } catch {
      this.forgetTransaction();
    }
  }

  private forgetTransaction(): void {
    Object.assign(this.runner, { isTransactionActive: false, transactionDepth: 0 });
  }

  /**
   * Refuses strangers, and begins with the write lock in hand: a transaction that reads first and asks for the lock
   * later fails at once when another process has written in between.
   */
  private guardWriter(): void {
    const send = this.runner.query.bind(this.runner) as (...statement: unknown[]) => Promise<unknown>;
    const guarded = (sql: string, ...rest: unknown[]): Promise<unknown> => {
      if (this.owner === null || this.holder.getStore() !== this.owner) throw new StrayStatementError();
      if (this.ending && !endsTransaction(sql)) throw new StrayStatementError();
      const answer = send(sql === 'BEGIN TRANSACTION' ? 'BEGIN IMMEDIATE' : sql, ...rest);
      this.sent.add(answer);
      const forget = () => this.sent.delete(answer);
      answer.then(forget, forget);
      return answer;
    };
    Object.assign(this.runner, { query: guarded });
  }
}
