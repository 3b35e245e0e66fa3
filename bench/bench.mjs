/**
 * The benchmarks: one JSON object to a line on stdout, everything for people on stderr. docs/performance.md says what
 * the lines mean. Ends with 1 when what was measured is not what should have been done.
 */
import { Console } from 'node:console';
import { parseArgs } from 'node:util';
import { buildIfStale } from '../scripts/build-if-stale.mjs';
import { admit } from './admit.mjs';
import { withHome } from './home.mjs';

/** @typedef {import('./admit.mjs').Speed} Speed */
/** @typedef {import('./admit.mjs').Effort} Effort */

const USAGE = 'Usage: npm run bench [-- --quick]';

/** The exit code for a command line that cannot be understood, as sysexits has it. */
const BAD_USAGE = 64;

/** @type {Effort} */
const FULL = { warmUps: 1, rounds: 5, seconds: 3 };

/**
 * Shows that everything still works, and measures nothing that can be quoted.
 *
 * @type {Effort}
 */
const QUICK = { warmUps: 0, rounds: 1, seconds: 1 };

/** Answers the effort asked for, or ends the process: nothing has been started yet. */
function effortOrUsage() {
  try {
    const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
    return values.quick ? QUICK : FULL;
  } catch (error) {
    console.error(`${messageOf(error)}\n${USAGE}`);
    process.exit(BAD_USAGE);
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {object} line */
function print(line) {
  console.log(JSON.stringify(line));
}

/** @param {readonly Speed[]} speeds */
function showTable(speeds) {
  const rows = speeds.map(({ system, database, callers, value, min, max, p50Ms, p99Ms }) => ({
    system,
    database,
    callers,
    'wakes/s': value,
    from: min,
    to: max,
    'p50 ms': p50Ms,
    'p99 ms': p99Ms,
  }));
  new Console(process.stderr).table(rows);
}

const effort = effortOrUsage();
for (const signal of ['SIGINT', 'SIGTERM']) {
  // What was started is put away as the process exits.
  process.once(signal, () => process.exit(1));
}
try {
  buildIfStale();
  showTable(await withHome((home) => admit(home, effort, print)));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
