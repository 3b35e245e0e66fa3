/**
 * What tells a private PostgreSQL server that still belongs to somebody from an orphan, and removes the orphans.
 *
 * All that a server writes lies in one temporary directory, its home, and a state file names the process that owns it.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

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

/** @typedef {(line: string) => void} Log */

const TEMP = fs.realpathSync(tmpdir());
const STATE_DIR = join(TEMP, 'reveille-postgres');
const HOME_PREFIX = 'reveille-postgres-';
const PID_NAMESPACE = process.platform === 'linux' ? fs.readlinkSync('/proc/self/ns/pid') : '';

/** How long a server may take to end. */
export const END_WITHIN_MS = 10_000;

/**
 * Ends the servers whose owner is gone and removes what they wrote. Sweeps take no lock: every step may be done
 * twice, so two at once do not hinder one another.
 *
 * @param {Log} log
 */
export function sweep(log) {
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
export function createHome() {
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
export function saveState(state) {
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
export function tryDiscard(state, log) {
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
export function discard(state) {
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
