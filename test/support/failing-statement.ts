import type { TestReveille } from './reveille.js';
import { intercepting } from './statements.js';

/** The statements by which admission reads and writes, each told from all others by what only it asks. */
export const SHAPES = {
  agent: /FROM "agents"/,
  pause: /FROM "workspace_pauses"/,
  key: /^SELECT .* FROM "runs" .*"idempotency_key" = /s,
  mergedKey: /^SELECT .* FROM "run_wakes" .*"idempotency_key" = /s,
  mergeTarget: /^SELECT .* FROM "runs" .*"scheduled_retry_at" IS NULL/s,
  count: /^SELECT .* FROM "runs" .*"actor_type" = 'agent'/s,
  turn: /pg_advisory_xact_lock/,
  insert: /^INSERT INTO "runs"/,
  merge: /^UPDATE "runs" SET .*"coalesced_count" \+ 1/s,
  note: /^INSERT INTO "run_wakes"/,
  event: /^INSERT INTO "events"/,
} as const;

/** Neither database knows this table, so each answers with the error of its own driver. */
const REJECTED = 'SELECT 1 FROM a_table_that_is_not_there';

/**
 * Runs `work` while statements of the given shape are sent to the database as one that it rejects: what fails is a real
 * statement with a real error, in the very transaction that asked.
 *
 * @throws when no statement of that shape was sent, because then nothing was shown.
 */
export async function whileFailing<T>(
  reveille: TestReveille,
  shape: RegExp,
  work: () => Promise<T>,
  rejected = REJECTED,
): Promise<T> {
  let failed = 0;
  const result = await intercepting(
    reveille,
    (statement) => {
      if (!shape.test(statement.sql)) return statement;
      failed += 1;
      return { sql: rejected, parameters: [] };
    },
    () => settled(work),
  );
  if (failed === 0) throw new Error(`No statement has the shape ${String(shape)}.`);
  return result();
}

/** The outcome of `work` as something that can be had later, so that a missing statement is told before it. */
async function settled<T>(work: () => Promise<T>): Promise<() => T> {
  try {
    const value = await work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
