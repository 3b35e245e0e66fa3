/** How many wakes a second are decided, with every gate, the ledger, the metrics and the log. */
import { GROUP_SIZE, ROWS_OF_GROUP, wakesOf } from './mix.mjs';
import { withReveille } from './reveille.mjs';
import { measureRound, summarise } from './rounds.mjs';

/** @typedef {import('./home.mjs').Home} Home */
/** @typedef {import('./home.mjs').Database} Database */
/** @typedef {import('./reveille.mjs').Reveille} Reveille */
/** @typedef {{ warmUps: number, rounds: number, seconds: number }} Effort `seconds` for each round */
/** @typedef {{ system: string, database: Database['name'], callers: number }} Setting */
/** @typedef {{ figure: string } & Setting & { value: number, unit: string } & ReturnType<typeof summarise>} Speed */

const CALLERS = [1, 16, 64];
const AGENTS = 1000;

/**
 * Prints, for each database and number of callers, the speed and what it left in the tables.
 *
 * @param {Home} home
 * @param {Effort} effort
 * @param {(line: object) => void} print
 * @returns {Promise<readonly Speed[]>}
 * @throws Error when the tables do not hold exactly what the wakes must have left in them.
 */
export async function admit({ databases, log }, effort, print) {
  const speeds = [];
  for (const database of databases) {
    for (const callers of CALLERS) {
      // A database of its own, so that no setting pays for what the one before has left.
      const databaseUrl = await database.fresh();
      const setting = { system: 'reveille', database: database.name, callers };
      const speed = await withReveille({ databaseUrl, log, agents: AGENTS }, (reveille) =>
        admitIn(setting, reveille, effort, print),
      );
      speeds.push(speed);
    }
  }
  return speeds;
}

/**
 * @param {Setting} setting
 * @param {Reveille} reveille
 * @param {Effort} effort
 * @param {(line: object) => void} print
 * @returns {Promise<Speed>}
 */
async function admitIn(setting, reveille, effort, print) {
  const { groupCount, rounds } = await measure(reveille, setting.callers, effort);
  const { value, ...spread } = summarise(rounds);
  const speed = { figure: 'admit', ...setting, value, unit: 'wakes/s', ...spread };
  print(speed);
  const rows = await rowsIn(reveille);
  print({ figure: 'admit.rows', ...setting, wakes: groupCount * GROUP_SIZE, ...rows });
  assertRows(setting, rows, groupCount);
  return speed;
}

/**
 * The rounds that count. In the ones that warm up, connections are opened and code is compiled; the groups of all are
 * counted, because all leave rows.
 *
 * @param {Reveille} reveille
 * @param {number} callers
 * @param {Effort} effort
 */
async function measure({ agents, queueRun }, callers, { warmUps, rounds, seconds }) {
  let groupCount = 0;
  const nextGroup = () => wakesOf(groupCount++, agents);
  const measured = [];
  while (measured.length < warmUps + rounds) {
    measured.push(await measureRound({ callers, seconds }, nextGroup, queueRun));
  }
  return { groupCount, rounds: measured.slice(warmUps) };
}

/** @param {Reveille} reveille */
async function rowsIn({ countRows }) {
  /** @type {Record<string, number>} */
  const rows = {};
  for (const table of Object.keys(ROWS_OF_GROUP)) rows[table] = await countRows(table);
  return rows;
}

/**
 * @param {Setting} setting
 * @param {Record<string, number>} rows
 * @param {number} groupCount
 */
function assertRows({ database, callers }, rows, groupCount) {
  for (const [table, ofGroup] of Object.entries(ROWS_OF_GROUP)) {
    const [found, expected] = [rows[table] ?? 0, ofGroup * groupCount];
    if (found === expected) continue;
    const counted = `${found} rows in ${table} instead of ${expected}`;
    throw new Error(`admit, ${database}, callers: ${callers}: ${counted}`);
  }
}
