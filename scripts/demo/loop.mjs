/** The loop: two agents that hand one task back and forth until the allowance refuses. All of it over HTTP. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** @typedef {ReturnType<typeof import('../../src/runs/run-view.js').viewRun>} Run */
/** @typedef {ReturnType<typeof import('../../src/sessions/session-view.js').viewSession>} SessionView */
/** @typedef {(method: string, path: string, body?: object) => Promise<unknown>} Call */
/** @typedef {{ from: string, to: string, outcome: string, retryAt: string | null }} HandOver */
/** @typedef {Pick<SessionView, 'id' | 'taskId' | 'agentProfileId' | 'state'>} Session */
/** @typedef {{ workspaceId: string, taskId: string }} Office */

/**
 * What the demo has seen, of which every number is the server's.
 *
 * @typedef {object} Outcome
 * @property {HandOver[]} decisions the agents' own hand-overs, as they were answered
 * @property {number} agentAdmitted
 * @property {number} agentRefused
 * @property {Run[]} runs oldest first
 * @property {Session[]} sessions
 * @property {Record<string, number>} metrics by series, as Prometheus writes them
 */

const AGENTS = /** @type {const} */ (['ada', 'grace']);
const PROGRAM = fileURLToPath(new URL('../../examples/agents/hand-over.mjs', import.meta.url));

const COUNTERS =
  /^(office_(?:wake_decisions|assignment_rate_limit|sessions|runs_finished)_total\{.*\}) (\d+)$/;

/** How often the runs are looked at, in milliseconds. */
const LOOK_MS = 50;

/** How long the agents may go on before the demo gives up, in milliseconds. */
const DEADLINE_MS = 60_000;

/** How long one answer may take, in milliseconds. */
const ANSWER_WITHIN_MS = 10_000;

/**
 * Assigns a fresh task once, as a person, watches until its agents have come to rest, and tells what happened.
 *
 * @param {{ url: string, adminToken: string }} server
 * @param {AbortSignal} signal ends the watching
 * @returns {Promise<Outcome>}
 */
export async function runLoop({ url, adminToken }, signal) {
  const admin = clientOf(url, adminToken);
  const office = await setUp(admin);
  const person = clientOf(url, await personalToken(admin, office));
  await person('PATCH', `/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: AGENTS[0] });
  const runs = await untilAtRest(person, office, signal);
  const decisions = runs.map(handOverIn);
  if (decisions.at(-1)?.outcome !== 'rate_limited') {
    throw new Error(`The loop came to rest without a refusal:\n${JSON.stringify(decisions)}`);
  }
  return {
    decisions,
    agentAdmitted: decisions.filter(({ outcome }) => outcome === 'queued').length,
    agentRefused: decisions.filter(({ outcome }) => outcome === 'rate_limited').length,
    runs,
    sessions: await sessionsOf(person, office),
    metrics: await countersAt(url),
  };
}

/**
 * @param {string} url
 * @param {string} token
 * @returns {Call}
 */
function clientOf(url, token) {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    if (!response.ok) {
      throw new Error(`${method} ${path} was answered ${response.status}: ${await response.text()}`);
    }
    return response.json();
  };
}

/**
 * An office with two agents and a task that is nobody's yet. Both review it, so that neither's conversation ends when
 * the task is taken away from it.
 *
 * @param {Call} admin
 * @returns {Promise<Office>}
 */
async function setUp(admin) {
  const workspaceId = idIn(await admin('POST', '/v1/workspaces', { name: 'Demo' }));
  for (const [id, other] of [AGENTS, [...AGENTS].reverse()]) {
    const command = [process.execPath, PROGRAM, other];
    await admin('POST', '/v1/agents', { id, workspaceId, name: id, role: 'worker', command });
  }
  const task = { workspaceId, title: 'Decide who decides', kind: 'office' };
  const taskId = idIn(await admin('POST', '/v1/tasks', task));
  for (const id of AGENTS) {
    await admin('PUT', `/v1/tasks/${taskId}/participants/${id}`, { role: 'reviewer' });
  }
  return { workspaceId, taskId };
}

/** @param {unknown} answer */
function idIn(answer) {
  return /** @type {{ id: string }} */ (answer).id;
}

/**
 * @param {Call} admin
 * @param {Office} office
 */
async function personalToken(admin, { workspaceId }) {
  const wanted = { kind: 'user', name: 'demo' };
  const answer = await admin('POST', `/v1/workspaces/${workspaceId}/tokens`, wanted);
  return /** @type {{ token: string }} */ (answer).token;
}

/**
 * Whoever hands the task over is at work until it knows what became of it, so once no run is open none will follow.
 *
 * @param {Call} call
 * @param {Office} office
 * @param {AbortSignal} signal
 */
async function untilAtRest(call, office, signal) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const runs = await runsOf(call, office);
    if (!runs.some(({ status }) => status === 'queued' || status === 'claimed')) return runs;
    if (performance.now() > deadline) {
      const counted = `${runs.length} runs and no refusal that ends it`;
      throw new Error(`The loop still goes on after ${DEADLINE_MS / 1000} seconds: ${counted}.`);
    }
    await sleep(LOOK_MS);
    signal.throwIfAborted();
  }
}

/**
 * @param {Call} call
 * @param {Office} office
 * @returns {Promise<Run[]>} oldest first: every run is asked for in the turn of the one before it
 */
async function runsOf(call, { taskId }) {
  const answer = await call('GET', `/v1/runs?taskId=${taskId}&limit=200`);
  return /** @type {{ items: Run[] }} */ (answer).items.reverse();
}

/**
 * The one line that the run's agent has printed.
 *
 * @param {Run} run
 * @returns {HandOver & { pid: number }}
 */
export function printedIn({ id, agentProfileId, status, outputSummary, errorMessage, cancelReason }) {
  if (status !== 'finished' || outputSummary === null) {
    const why = errorMessage ?? cancelReason ?? 'without a word';
    throw new Error(`Run ${id} of ${agentProfileId} is ${status}: ${why}`);
  }
  /** @type {unknown} */
  const line = JSON.parse(outputSummary);
  return /** @type {HandOver & { pid: number }} */ (line);
}

/**
 * @param {Run} run
 * @returns {HandOver}
 */
function handOverIn(run) {
  const { from, to, outcome, retryAt } = printedIn(run);
  return { from, to, outcome, retryAt };
}

/**
 * @param {Call} call
 * @param {Office} office
 * @returns {Promise<Session[]>} all that the task ever had, ended ones too
 */
async function sessionsOf(call, { taskId }) {
  const { items } = /** @type {{ items: SessionView[] }} */ (
    await call('GET', `/v1/tasks/${taskId}/sessions`)
  );
  return items.map(({ id, agentProfileId, state }) => ({ id, taskId, agentProfileId, state }));
}

/**
 * @param {string} url
 * @returns {Promise<Record<string, number>>}
 */
async function countersAt(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.split('\n').map((line) => COUNTERS.exec(line) ?? []);
  return Object.fromEntries(
    found.flatMap(([, series, value]) => (series === undefined ? [] : [[series, Number(value)]])),
  );
}
