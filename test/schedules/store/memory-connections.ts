import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { Transactions } from '../../../src/database/transactions.js';
import type { MemoryStore } from './memory-store.js';
import { Session, type Steps } from './session.js';

const ADVISORY_LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

/** The session behind each manager that was handed out. */
const sessions = new WeakMap<EntityManager, Session>();

/** The session that the repositories of these transactions read and write through. */
export function sessionsOf(transactions: Transactions) {
  const behind = (manager: EntityManager): Session => {
    const session = sessions.get(manager);
    if (session === undefined) throw new Error('This manager belongs to a real database.');
    return session;
  };
  return {
    reading: () => behind(transactions.reading()),
    writing: () => behind(transactions.writing()),
  };
}

/** A store that is played on, and who says when. */
interface Stage {
  readonly store: MemoryStore;
  readonly steps: Steps;
  opened?(session: Session): void;
}

/** Of a DataSource on PostgreSQL as much as the real transactions and the real dialect use. */
export class MemoryDataSource {
  private stage: Stage | null = null;

  /** For the code under test, which knows the whole class. */
  asDataSource(): DataSource {
    return this as unknown as DataSource;
  }

  /** From now on connections are opened to this store. */
  serve(stage: Stage): void {
    this.stage = stage;
  }

  get manager(): EntityManager {
    return this.createQueryRunner().manager;
  }

  createQueryRunner(): QueryRunner {
    if (this.stage === null) throw new Error('There is no store to connect to.');
    const session = new Session(this.stage.store, this.stage.steps);
    this.stage.opened?.(session);
    return new MemoryRunner(session) as unknown as QueryRunner;
  }
}

/** Of a QueryRunner the same: the few statements that are sent as text, and the two ways in which a transaction ends. */
class MemoryRunner {
  readonly manager: EntityManager;
  isTransactionActive = false;
  isReleased = false;

  constructor(private readonly session: Session) {
    const query = (sql: string, parameters?: unknown[]) => this.query(sql, parameters);
    this.manager = { query } as unknown as EntityManager;
    sessions.set(this.manager, session);
  }

  startTransaction(): Promise<void> {
    this.isTransactionActive = true;
    return this.session.begin();
  }

  async commitTransaction(): Promise<void> {
    await this.query('COMMIT');
    this.isTransactionActive = false;
  }

  async rollbackTransaction(): Promise<void> {
    await this.query('ROLLBACK');
    this.isTransactionActive = false;
  }

  release(): Promise<void> {
    this.isReleased = true;
    return Promise.resolve();
  }

  connect() {
    return Promise.resolve({ query: async () => ({ command: await this.session.commit() }) });
  }

  /** Savepoints take no turn of their own: nobody else can tell when they are made. */
  async query(sql: string, parameters: unknown[] = []): Promise<void> {
    switch (sql) {
      case 'SAVEPOINT reveille_step':
        this.session.savepoint();
        return;
      case 'RELEASE SAVEPOINT reveille_step':
        this.session.release();
        return;
      case 'ROLLBACK TO SAVEPOINT reveille_step':
        this.session.rollbackToSavepoint();
        return;
      case 'ROLLBACK':
        return this.session.rollback();
      case ADVISORY_LOCK:
        return this.advisoryLock(String(parameters[0]));
      default:
        throw new Error(`The store has no words for: ${sql}`);
    }
  }

  private async advisoryLock(name: string): Promise<void> {
    try {
      await this.session.statement(`lock ${name}`, (session) => {
        session.store.advisoryLock(session, name);
      });
    } catch (error) {
      this.session.store.missedLocks++;
      throw error;
    }
  }
}
