/** Where the measurements take place: fresh databases as durable as their makers have them, and a file for the log. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { startPostgres } from '../scripts/postgres.mjs';

/**
 * @typedef {object} Database
 * @property {'postgres' | 'sqlite'} name
 * @property {() => Promise<string>} fresh makes an empty one and answers its URL
 */

/** @typedef {{ databases: readonly Database[], log: import('pino').DestinationStream }} Home */

/**
 * Does the work with a PostgreSQL server and a temporary folder of its own, and removes both, also when the process
 * exits in between.
 *
 * @template T
 * @param {(home: Home) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withHome(work) {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
  });
  const server = await startPostgres({ durable: true, log: console.error });
  try {
    const databases = [postgresAt(server.url), sqliteIn(folder)];
    // As the service's stdout would, it waits for each line to be written.
    const log = pino.destination(join(folder, 'log'));
    return await work({ databases, log });
  } finally {
    await server.stop();
  }
}

/**
 * @param {string} serverUrl
 * @returns {Database}
 */
function postgresAt(serverUrl) {
  let made = 0;
  const fresh = async () => {
    const url = new URL(serverUrl);
    url.pathname = `/bench_${++made}`;
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    await client.query(`CREATE DATABASE bench_${made}`);
    await client.end();
    return url.href;
  };
  return { name: 'postgres', fresh };
}

/**
 * @param {string} folder
 * @returns {Database}
 */
function sqliteIn(folder) {
  let made = 0;
  return { name: 'sqlite', fresh: () => Promise.resolve(`sqlite:${join(folder, `bench-${++made}.db`)}`) };
}
