import { DEADLOCK, DatabaseError, inFailedTransaction } from './database-error.js';
import { HeldElsewhere, type Lock } from './lock.js';
import type { MemoryStore } from './memory-store.js';

/** Who says when a statement is carried out. */
export interface Steps {
  /** Resolves when it is the statement's turn. */
  turn(what: string): Promise<void>;
  /** The error with which the statement is to fail, if any. */
  failure(what: string): Error | null;
  /** Everybody may look at what has become of the store. */
  done(): void;
}

/**
 * One transaction, read committed: each statement sees what is committed at its turn, and what the transaction has
 * changed itself. A statement that meets what another transaction holds waits outside of all turns until that is free.
 */
export class Session {
  private readonly held = new Set<Lock>();
  /** How to undo what was done, newest last. */
  private readonly undoing: (() => void)[] = [];
  private readonly savepoints: number[] = [];
  private awaited: Lock | null = null;
  private isFailed = false;

  constructor(
    readonly store: MemoryStore,
    private readonly steps: Steps,
  ) {}

  get isWaiting(): boolean {
    return this.awaited !== null;
  }

  begin(): Promise<void> {
    return this.steps.turn('BEGIN');
  }

  async statement<T>(what: string, execute: (session: Session) => T): Promise<T> {
    for (;;) {
      await this.steps.turn(what);
      try {
        return this.executed(what, execute);
      } catch (error) {
        await this.waitOrFail(error);
      }
    }
  }

  savepoint(): void {
    if (this.isFailed) throw inFailedTransaction();
    this.savepoints.push(this.undoing.length);
  }

  release(): void {
    if (this.isFailed) throw inFailedTransaction();
    this.savepoints.pop();
  }

  /** Lets go of what was taken since, too. */
  rollbackToSavepoint(): void {
    this.undo(this.savepoints.at(-1) ?? 0);
    this.isFailed = false;
  }

  /** Answers what was done: a failed transaction is rolled back instead, without an error. */
  async commit(): Promise<'COMMIT' | 'ROLLBACK'> {
    await this.steps.turn('COMMIT');
    if (this.isFailed) this.undo(0);
    const released = [...this.held];
    this.held.clear();
    for (const lock of released) lock.publish();
    for (const lock of released) lock.free();
    this.steps.done();
    return this.isFailed ? 'ROLLBACK' : 'COMMIT';
  }

  async rollback(): Promise<void> {
    await this.steps.turn('ROLLBACK');
    this.undo(0);
    this.steps.done();
  }

  /** Notes that the lock is the transaction's until it ends. */
  took(lock: Lock): void {
    this.held.add(lock);
    this.undoable(() => {
      this.held.delete(lock);
      lock.free();
    });
  }

  /** Notes how to undo what was just done. */
  undoable(undo: () => void): void {
    this.undoing.push(undo);
  }

  private executed<T>(what: string, execute: (session: Session) => T): T {
    if (this.isFailed) throw inFailedTransaction();
    const failure = this.steps.failure(what);
    if (failure !== null) throw failure;
    try {
      return execute(this);
    } finally {
      this.steps.done();
    }
  }

  private undo(downTo: number): void {
    while (this.undoing.length > downTo) this.undoing.pop()?.();
  }

  private async waitOrFail(error: unknown): Promise<void> {
    if (!(error instanceof HeldElsewhere)) return this.fail(error);
    if (this.isAwaitedBy(error.lock.holder)) return this.fail(new DatabaseError(DEADLOCK));
    this.awaited = error.lock;
    await error.lock.freed();
    this.awaited = null;
  }

  private fail(error: unknown): never {
    this.isFailed = true;
    throw error;
  }

  /** Whether the other one waits for this one, be it by way of others. */
  private isAwaitedBy(other: Session | null): boolean {
    for (let next = other; next !== null; next = next.awaited?.holder ?? null) {
      if (next === this) return true;
    }
    return false;
  }
}
