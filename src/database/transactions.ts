import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { EntityManager, QueryRunner } from 'typeorm';

/** One open transaction and what waits for its commit. */
interface UnitOfWork {
  readonly manager: EntityManager;
  readonly afterCommit: (() => void)[];
  open: boolean;
}

/** A statement was about to be sent outside the unit of work that it needs, or after that has ended. */
export class StrayStatementError extends Error {
  constructor() {
    super('This statement must run inside a unit of work that is still open: see Transactions.run.');
  }
}

/** Whether the statement is one of the two that a transaction ends with. */
export function endsTransaction(sql: string): boolean {
  return sql === 'COMMIT' || sql === 'ROLLBACK';
}

/**
 * The only way to write.
 *
 * `run` opens a transaction, or joins the one that is already open around it; whatever is awaited inside reads and
 * writes through that transaction. Outside, repositories can only get a manager to read with. The open transaction
 * travels with the asynchronous context, so that no caller has to pass it on and no statement can slip into a stranger's.
 */
export abstract class Transactions {
  private readonly logger = new Logger(Transactions.name);
  private readonly current = new AsyncLocalStorage<UnitOfWork>();

  /** Runs `work` in a transaction of its own: committed when it resolves, rolled back when it throws. */
  protected abstract transact<T>(work: (manager: EntityManager) => Promise<T>): Promise<T>;

  /** A manager that sees what is committed. It is for reading: SQLite refuses anything else, PostgreSQL would not. */
  protected abstract snapshot(): EntityManager;

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.inside) return work();
    const afterCommit: (() => void)[] = [];
    const result = await this.transact((manager) => this.within({ manager, afterCommit, open: true }, work));
    this.settle(afterCommit);
    return result;
  }

  /** Whether a unit of work is open around the caller. */
  get inside(): boolean {
    return this.current.getStore()?.open === true;
  }

  /** The manager to read with: the open transaction's, else one that sees what is committed. */
  reading(): EntityManager {
    return this.unit()?.manager ?? this.snapshot();
  }

  /**
   * The manager to write with.
   *
   * @throws StrayStatementError outside a unit of work.
   */
  writing(): EntityManager {
    const unit = this.unit();
    if (unit === undefined) throw new StrayStatementError();
    return unit.manager;
  }

  /** The open transaction's QueryRunner, for statements that the query builder has no words for. */
  writingRunner(): QueryRunner {
    const runner = this.writing().queryRunner;
    if (runner === undefined) throw new StrayStatementError();
    return runner;
  }

  /** Runs `effect` once the open transaction has committed, at once when none is open, never when it rolls back. */
  afterCommit(effect: () => void): void {
    const unit = this.unit();
    if (unit === undefined) this.settle([effect]);
    else unit.afterCommit.push(effect);
  }

  /** Runs `work` so that its failure undoes only its own statements and leaves the open transaction usable. */
  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const unit = this.unit();
    if (unit === undefined) return work();
    const effects = unit.afterCommit.length;
    await unit.manager.query('SAVEPOINT reveille_step');
    try {
      const result = await work();
      await unit.manager.query('RELEASE SAVEPOINT reveille_step');
      return result;
    } catch (error) {
      // What they were to report is undone.
      unit.afterCommit.splice(effects);
      await this.undoStep(unit.manager);
      throw error;
    }
  }

  /** Where even this fails the connection is gone and the whole transaction with it; the first error explains why. */
  private async undoStep(manager: EntityManager): Promise<void> {
    try {
      await manager.query('ROLLBACK TO SAVEPOINT reveille_step');
      await manager.query('RELEASE SAVEPOINT reveille_step');
    } catch (error) {
      this.logger.debug({ error: String(error) }, 'a savepoint could not be undone');
    }
  }

  /** Runs `work` so that its failure undoes all of it and nothing else: in a transaction, or a step of the open one. */
  undivided<T>(work: () => Promise<T>): Promise<T> {
    return this.inside ? this.savepoint(work) : this.run(work);
  }

  private unit(): UnitOfWork | undefined {
    const unit = this.current.getStore();
    if (unit?.open === false) throw new StrayStatementError();
    return unit;
  }

  private async within<T>(unit: UnitOfWork, work: () => Promise<T>): Promise<T> {
    try {
      return await this.current.run(unit, work);
    } finally {
      unit.open = false;
    }
  }

  /** An effect reports what is already true in the database; one that fails must not unmake the caller's success. */
  private settle(effects: readonly (() => void)[]): void {
    for (const effect of effects) {
      try {
        effect();
      } catch (error) {
        this.logger.error({ error: String(error) }, 'an effect after commit failed');
      }
    }
  }
}
