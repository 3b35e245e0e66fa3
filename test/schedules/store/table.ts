import { DatabaseError, UNIQUE_VIOLATION } from './database-error.js';
import { Row } from './row.js';
import type { Session } from './session.js';

/** A unique index; rows without a key are not in it. */
export interface Index<T> {
  readonly name: string;
  readonly key: (row: T) => string | null;
}

/** Rows as PostgreSQL keeps them for several transactions at once. Every method is a part of one statement. */
export class Table<T> {
  /** Every version that was ever committed, in order. */
  readonly past: T[] = [];
  private readonly rows = new Set<Row<T>>();

  constructor(private readonly indexes: readonly Index<T>[]) {}

  /** Puts a row there before anything begins. */
  seed(value: T): void {
    this.rows.add(this.row(value));
    this.past.push(value);
  }

  /** The rows that the session sees; null sees what is committed. */
  seenBy(session: Session | null): readonly T[] {
    const seen: T[] = [];
    for (const row of this.rows) {
      const version = row.seenBy(session);
      if (version !== null) seen.push(version);
    }
    return seen;
  }

  insert(session: Session, value: T): void {
    const row = this.row(null);
    this.arbitrate(session, row, value);
    session.undoable(() => this.rows.delete(row));
    row.take(session);
    row.write(session, value);
    this.rows.add(row);
  }

  /** Changes the rows that match, and answers how many. */
  update(session: Session, matches: (row: T) => boolean, change: (row: T) => T): number {
    const locked = this.locked(session, matches);
    for (const [row, value] of locked) {
      const changed = change(value);
      this.arbitrate(session, row, changed);
      row.write(session, changed);
    }
    return locked.length;
  }

  delete(session: Session, matches: (row: T) => boolean): number {
    const locked = this.locked(session, matches);
    for (const [row] of locked) row.write(session, null);
    return locked.length;
  }

  /** Locks the rows that match and answers them. */
  lock(session: Session, matches: (row: T) => boolean): readonly T[] {
    return this.locked(session, matches).map(([, value]) => value);
  }

  /** The rows that the session sees and nobody else holds: what SKIP LOCKED does not skip. */
  unheld(session: Session): readonly T[] {
    const own = [...this.rows].filter(({ holder }) => holder === null || holder === session);
    return own.flatMap((row) => row.seenBy(session) ?? []);
  }

  private row(committed: T | null): Row<T> {
    const row = new Row<T>(committed, (version) => {
      if (version === null) this.rows.delete(row);
      else this.past.push(version);
    });
    return row;
  }

  /** What was seen before a wait is not looked at again: the statement begins anew, and matches what is there then. */
  private locked(session: Session, matches: (row: T) => boolean): readonly (readonly [Row<T>, T])[] {
    const found: (readonly [Row<T>, T])[] = [];
    for (const row of this.rows) {
      const value = row.seenBy(session);
      if (value !== null && matches(value)) found.push([row, value]);
    }
    for (const [row] of found) row.take(session);
    return found;
  }

  /** Holds a row that is about to be written against the unique indexes. */
  private arbitrate(session: Session, row: Row<T>, value: T): void {
    for (const { name, key } of this.indexes) {
      const wanted = key(value);
      if (wanted === null || (row.draft !== null && key(row.draft) === wanted)) continue;
      const clashes = (version: T) => key(version) === wanted;
      for (const other of this.rows) {
        if (other !== row && other.isClash(session, clashes)) throw new DatabaseError(UNIQUE_VIOLATION, name);
      }
    }
  }
}
