import type { Session } from './session.schema.js';
import type { SessionPair } from './session.errors.js';

/**
 * Where sessions are kept: our own table, or a host's.
 *
 * It is asked while a transaction of ours is open, so it must not wait for a connection or a row of ours. One that can
 * check and insert in one transaction of its own says so by `createOfficeSession`; for one that cannot, the rule is kept
 * under a lock within this process (AC-OFFICE-SESSION-IDENTITY-001.7).
 */
export interface SessionStore {
  /** The pair's session that a caller can use, if any: live before terminal, then newest, then greatest id. */
  findPreferred(pair: SessionPair): Promise<Session | null>;

  /** The session that has the id. A store that cannot be asked so answers by task only. */
  find?(id: string): Promise<Session | null>;

  /** All sessions of a task. */
  list(taskId: string): Promise<readonly Session[]>;

  insert(row: Session): Promise<void>;

  /** Changes a session that is still in the expected state, and answers whether it was. */
  update(id: string, expectedState: string, changes: Partial<Session>): Promise<boolean>;

  /**
   * Inserts the row unless its pair has a live session, both in one transaction.
   *
   * @throws OfficeSessionRaceConflict when it has; nothing is written then.
   */
  createOfficeSession?(row: Session): Promise<void>;
}

/** The injection token of the {@link SessionStore} that a host brings; null when it brings none. */
export const HOST_SESSION_STORE = Symbol('HOST_SESSION_STORE');

/** The injection token of the {@link SessionStore} in use. */
export const SESSION_STORE = Symbol('SESSION_STORE');

/** The session of the task that has the id, or null. */
export async function sessionOf(store: SessionStore, taskId: string, id: string): Promise<Session | null> {
  if (store.find !== undefined) return store.find(id);
  return (await store.list(taskId)).find((session) => session.id === id) ?? null;
}
