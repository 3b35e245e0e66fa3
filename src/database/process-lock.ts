import type { PostgresLine } from './postgres-line.js';

/** Lets one process at a time do what all of them would do. It saves work; that nothing is done twice is for the work to see to. */
export abstract class ProcessLock {
  /** Whether no other process serves this database. */
  abstract readonly isAlone: boolean;

  /** Does the work while holding the name, or nothing when another process holds it or cannot be asked. */
  abstract tryDo(name: string, work: () => Promise<void>): Promise<void>;
}

/** On SQLite the file itself is held by one process. */
export class SoleProcessLock extends ProcessLock {
  readonly isAlone = true;

  tryDo(_name: string, work: () => Promise<void>): Promise<void> {
    return work();
  }
}

/** An advisory lock of the line's session: whoever dies holds it no longer. */
export class PostgresProcessLock extends ProcessLock {
  readonly isAlone = false;

  constructor(private readonly line: PostgresLine) {
    super();
  }

  async tryDo(name: string, work: () => Promise<void>): Promise<void> {
    const key = `reveille ${name}`;
    const rows = await this.line
      .query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held', [key])
      .catch(() => []);
    if (rows[0]?.held !== true) return;
    try {
      await work();
    } finally {
      // A line that has gone down meanwhile has let go by itself.
      await this.line.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [key]).catch(() => []);
    }
  }
}
