/** The real server with a database of its own, for as long as some work takes. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../postgres.mjs';

/** @typedef {'sqlite' | 'postgres'} DatabaseName */
/** @typedef {{ url: string, adminToken: string }} Server */
/** @typedef {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} Child */

const START = fileURLToPath(new URL('../start.mjs', import.meta.url));

/** How much of the server's log is shown when it does not do what it should, in lines. */
const LOG_SHOWN = 20;

/** How long a server that was asked to end may take, in milliseconds: more than it gives its agents. */
const END_WITHIN_MS = 20_000;

/**
 * Starts a server on a free port, does the work, and stops the server, which must end well. Nothing is left behind,
 * whatever happens.
 *
 * @template T
 * @param {DatabaseName} database
 * @param {(server: Server) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withServer(database, work) {
  const home = await mkdtemp(join(tmpdir(), 'reveille-demo-'));
  try {
    return await withDatabase(database, home, (databaseUrl) => serve(databaseUrl, home, work));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/**
 * @template T
 * @param {DatabaseName} database
 * @param {string} home
 * @param {(databaseUrl: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withDatabase(database, home, work) {
  if (database === 'sqlite') return work(`sqlite:${join(home, 'reveille.db')}`);
  const postgres = await startPostgres();
  try {
    return await work(postgres.url);
  } finally {
    await postgres.stop();
  }
}

/**
 * @template T
 * @param {string} databaseUrl
 * @param {string} home
 * @param {(server: Server) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function serve(databaseUrl, home, work) {
  const adminToken = randomBytes(32).toString('hex');
  const child = spawn(process.execPath, [START], {
    cwd: home,
    env: environment({ DATABASE_URL: databaseUrl, ADMIN_TOKEN: adminToken }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const log = keepLog(child);
  try {
    return await work({ url: await listening(child, exited, log), adminToken });
  } finally {
    await stop(child, exited, log);
  }
}

/**
 * Everything but the settings of the server is inherited: those of whoever runs the demo are meant for another one.
 *
 * @param {Record<string, string>} settings
 */
function environment(settings) {
  return {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'info',
    WORKER: 'on',
    WORKER_CONCURRENCY: undefined,
    METRICS_TOKEN: undefined,
    AGENT_USER: undefined,
    DRAIN_SECONDS: undefined,
    ...settings,
  };
}

/**
 * Reads on for as long as the server writes, or it would come to a halt.
 *
 * @param {Child} child
 * @returns {string[]} its last lines, now and later
 */
function keepLog({ stdout, stderr }) {
  /** @type {string[]} */
  const log = [];
  for (const input of [stdout, stderr]) {
    createInterface({ input }).on('line', (line) => {
      log.push(line);
      log.splice(0, log.length - LOG_SHOWN);
    });
  }
  return log;
}

/**
 * Where the server listens, as it says itself: it was left to choose the port.
 *
 * @param {Child} child
 * @param {Promise<unknown[]>} exited
 * @param {readonly string[]} log
 * @returns {Promise<string>}
 */
async function listening(child, exited, log) {
  /** @type {Promise<string>} */
  const url = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = /"url":"(http[^"]+)"/.exec(line)?.[1];
      if (found !== undefined && line.includes('"Reveille serves"')) resolve(found);
    });
  });
  const gone = exited.then(() => {
    throw new Error(`The server did not start.\n${log.join('\n')}`);
  });
  return Promise.race([url, gone]);
}

/**
 * @param {Child} child
 * @param {Promise<unknown[]>} exited
 * @param {readonly string[]} log
 */
async function stop(child, exited, log) {
  child.kill('SIGTERM');
  const late = sleep(END_WITHIN_MS, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
  await Promise.race([exited, late]);
  const [code, signal] = await exited;
  if (code === 0) return;
  throw new Error(`The server ended with ${String(code ?? signal)} instead of 0.\n${log.join('\n')}`);
}
