import type { House } from './house.js';
import { Journal } from './journal.js';
import type { MemoryStore } from './store/memory-store.js';
import type { Session } from './store/session.js';
import type { Turns } from './turns.js';

/** The house with one store in it, on which everybody acts at once. */
export class World {
  readonly journal;
  /** The latest transaction of each who acts. */
  private readonly sessions = new Map<string, Session>();

  constructor(
    readonly house: House,
    readonly store: MemoryStore,
    readonly turns: Turns,
  ) {
    this.journal = new Journal(store, (caller) => this.sessions.get(caller) ?? null);
    turns.watched(() => {
      this.journal.observe();
    });
    house.source.serve({
      store,
      steps: turns,
      opened: (session) => this.sessions.set(turns.caller, session),
    });
  }
}
