import type { ApplicationRole, Column } from './application-role.js';
import type { TestReveille } from './reveille.js';
import { type Statement, intercepting } from './statements.js';

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

/** The statements by which whoever drives a note strikes it or leaves it. */
export const DRIVING = /^(DELETE FROM|UPDATE) "wake_notes"/;

/** Which statements are meant. */
interface Shape {
  test(sql: string): boolean;
  toString(): string;
}

/** Of the statements of a shape the first so many. */
export function first(count: number, shape: RegExp): Shape {
  let seen = 0;
  return { test: (sql) => shape.test(sql) && ++seen <= count, toString: () => String(shape) };
}

/** Of the statements of a shape those after the first so many. */
export function after(count: number, shape: RegExp): Shape {
  let seen = 0;
  return { test: (sql) => shape.test(sql) && ++seen > count, toString: () => String(shape) };
}

/** Neither database knows this table, so each answers with the error of its own driver. */
const REJECTED = 'SELECT 1 FROM a_table_that_is_not_there';

/**
 * Runs `work` while statements of the given shape are sent to the database as one that it rejects: what fails is a real
 * statement with a real error, in the very transaction that asked.
 *
 * @throws when no statement of that shape was sent, because then nothing was shown.
 */
export function whileFailing<T>(
  reveille: TestReveille,
  shape: Shape,
  work: () => Promise<T>,
  rejected = REJECTED,
): Promise<T> {
  const replace: Meeting = (statement, isMet) => (isMet ? { sql: rejected, parameters: [] } : statement);
  return whileMeeting(reveille, shape, replace, work);
}

/**
 * Runs `work` while the server's role is denied a column as often as it sends a statement of the given shape, and only
 * for as long as that takes: several gates read the same table, each of them whole rows.
 *
 * @throws when no statement of that shape was sent, because then nothing was shown.
 */
export function whileDenied<T>(
  reveille: TestReveille,
  shape: RegExp,
  { role, column }: { role: ApplicationRole; column: Column },
  work: () => Promise<T>,
): Promise<T> {
  const deny: Meeting = async (statement, isMet) => {
    await role.deny(isMet ? column : null);
    return statement;
  };
  return whileMeeting(reveille, shape, deny, work).finally(() => role.deny(null));
}

/** What is done about each statement; `isMet` says whether it has the shape. */
type Meeting = (statement: Statement, isMet: boolean) => Statement | Promise<Statement>;

async function whileMeeting<T>(
  reveille: TestReveille,
  shape: Shape,
  meeting: Meeting,
  work: () => Promise<T>,
): Promise<T> {
  let met = 0;
  const intercept = (statement: Statement) => {
    const isMet = shape.test(statement.sql);
    if (isMet) met += 1;
    return meeting(statement, isMet);
  };
  const result = await intercepting(reveille, intercept, () => settled(work));
  if (met === 0) throw new Error(`No statement has the shape ${String(shape)}.`);
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
