import { Transactions } from '../../src/database/transactions.js';
import { Gate } from './gate.js';
import type { TestReveille } from './reveille.js';
import { type Statement, intercepting } from './statements.js';

/**
 * Runs `work` while statements of the shape, from any of the servers, wait until so many are there: that they contend
 * is certain then. For PostgreSQL, where transactions stand beside each other.
 *
 * @throws when fewer have come, because then nothing was shown.
 */
export async function meetingAt<T>(
  servers: readonly TestReveille[],
  [shape, count]: readonly [shape: RegExp, count: number],
  work: () => Promise<T>,
): Promise<T> {
  const everybodyIsThere = new Gate();
  let arrived = 0;
  const meet = async (statement: Statement) => {
    if (!shape.test(statement.sql)) return statement;
    arrived += 1;
    if (arrived === count) everybodyIsThere.open();
    await everybodyIsThere.passed;
    return statement;
  };
  const met = servers.reduce<() => Promise<T>>(
    (inner, server) => () => intercepting(server, meet, inner),
    work,
  );
  const result = await met();
  if (arrived < count) throw new Error(`Only ${arrived} statements have the shape ${String(shape)}.`);
  return result;
}

/**
 * Starts `contenders` while SQLite's one writer is taken, and frees it once each of them has looked: all of them have
 * seen the same when the first may write. `looks` watches by what they look.
 */
export async function afterAllHaveLooked<T>(
  reveille: TestReveille,
  looks: jest.SpyInstance<Promise<unknown>>,
  contenders: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  const haveLooked = new Gate();
  const writer = reveille.get(Transactions).run(() => haveLooked.passed);
  const contending = contenders.map((contend) => contend());
  expect(looks).toHaveBeenCalledTimes(contenders.length);
  for (const { value } of looks.mock.results) await value;
  haveLooked.open();
  await writer;
  looks.mockRestore();
  return Promise.all(contending);
}
