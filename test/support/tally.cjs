/**
 * A find-or-create in the pattern that the queue follows: lock first, then look, then write. Plain JavaScript, so that
 * the tests and a process beside them count in the same way.
 */

/** @import { Dialect } from '../../src/database/dialect.js' */
/** @import { Transactions } from '../../src/database/transactions.js' */

const CALLERS = 64;
const KEYS = 8;

/** The keys that so many callers count under, each as often as every other. */
const keys = Array.from({ length: CALLERS }, (_, caller) => `key-${caller % KEYS}`);

/** The name of the lock that is taken for a key. */
const lockOf = (/** @type {string} */ key) => `tally:${key}`;

/** @param {Transactions} transactions */
async function createTally(transactions) {
  await transactions.run(() =>
    transactions.writing().query('CREATE TABLE tally (key text PRIMARY KEY, count integer NOT NULL)'),
  );
}

/**
 * Counts one more under the key, whose row is made when it is not there.
 *
 * @param {{ transactions: Transactions, dialect: Dialect }} database
 * @param {string} key
 * @param {() => Promise<void> | void} [onceInside] happens when the lock is taken and the row has been looked at
 */
async function countOne({ transactions, dialect }, key, onceInside = () => undefined) {
  await transactions.run(async () => {
    const manager = transactions.writing();
    await dialect.lock(manager, [lockOf(key)]);
    await addOne(manager, key, onceInside);
  });
}

/**
 * @param {import('typeorm').EntityManager} manager
 * @param {string} key
 * @param {() => Promise<void> | void} onceInside
 */
async function addOne(manager, key, onceInside) {
  /** @type {{ count: number }[]} */
  const [row] = await manager.query('SELECT count FROM tally WHERE key = $1', [key]);
  await onceInside();
  if (row === undefined) await manager.query('INSERT INTO tally (key, count) VALUES ($1, 1)', [key]);
  else await manager.query('UPDATE tally SET count = $1 WHERE key = $2', [row.count + 1, key]);
}

module.exports = { addOne, countOne, createTally, keys, lockOf };
