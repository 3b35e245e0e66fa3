/**
 * Two real agent processes hand one task back and forth through the HTTP API of a real server, until the server
 * refuses. Ends by itself and leaves nothing behind.
 */
import { parseArgs } from 'node:util';
import { buildIfStale } from './build-if-stale.mjs';
import { runLoop } from './demo/loop.mjs';
import { report } from './demo/report.mjs';
import { withServer } from './demo/server.mjs';

/** @typedef {import('./demo/server.mjs').DatabaseName} DatabaseName */

const USAGE = 'Usage: npm run demo [-- [--json] [--database sqlite|postgres]]';

/** The exit code for a command line that cannot be understood, as sysexits has it. */
const BAD_USAGE = 64;

/**
 * @returns {{ json: boolean, database: DatabaseName }}
 * @throws Error that says what is not understood.
 */
function readFlags() {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      database: { type: 'string', default: 'sqlite' },
    },
  });
  const { json, database } = values;
  if (database !== 'sqlite' && database !== 'postgres') {
    throw new Error(`There is no database '${database}': it is sqlite or postgres.`);
  }
  return { json, database };
}

/** Answers the flags, or ends the process: nothing has been started yet. */
function flagsOrUsage() {
  try {
    return readFlags();
  } catch (error) {
    console.error(`${messageOf(error)}\n${USAGE}`);
    process.exit(BAD_USAGE);
  }
}

/** Stops as soon as somebody wants it to, and still puts everything away. */
function stopOnSignal() {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      controller.abort(new Error(`The demo was ended by ${signal}.`));
    });
  }
  return controller.signal;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

const { json, database } = flagsOrUsage();
try {
  const signal = stopOnSignal();
  buildIfStale();
  const outcome = await withServer(database, (server) => runLoop(server, signal));
  console.log(json ? JSON.stringify(outcome) : report(outcome));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
