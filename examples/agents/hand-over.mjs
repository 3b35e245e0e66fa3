/**
 * An agent that does one thing: it hands its task to another agent.
 *
 *     node hand-over.mjs <id of the other agent>
 */
import { json } from 'node:stream/consumers';

/**
 * @typedef {{ run: { agentProfileId: string }, wakes: unknown[] }} Input
 * @typedef {{ outcome: string, runId: string | null, error: string | null }} Outcome
 * @typedef {Outcome & { allowance: { retryAt: string | null } | null }} Reaction
 */

// A task that is handed over is taken away from whoever had it, and that agent is asked to end: this very one. So the
// SIGTERM comes while the request below is still being answered. A polite agent finishes what it is at and exits with
// 0; without a handler the signal would end it there, the answer would be lost and the run would count as failed.
process.on('SIGTERM', () => undefined);

const { REVEILLE_URL: url, REVEILLE_TOKEN: token, REVEILLE_TASK_ID: taskId } = process.env;
const { REVEILLE_RUN_ID: runId, REVEILLE_SESSION_ID: sessionId } = process.env;
const to = process.argv[2];

// What it is woken for: a run, and the wakes that were merged in it.
const { run, wakes } = /** @type {Input} */ (await json(process.stdin));

const response = await fetch(`${url ?? ''}/v1/tasks/${taskId ?? ''}`, {
  method: 'PATCH',
  headers: { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' },
  body: JSON.stringify({ assigneeAgentProfileId: to }),
});
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);

// The task is the other's now, and this is what became of the wake that tells it so.
const { reactions } = /** @type {{ reactions: [Reaction] }} */ (await response.json());
const [{ outcome, runId: wokenRunId, error, allowance }] = reactions;

// The end of what it prints is kept as the summary of its run.
const self = { pid: process.pid, runId, sessionId, wakes: wakes.length };
const answer = { outcome, wokenRunId, error, retryAt: allowance?.retryAt ?? null };
console.log(JSON.stringify({ ...self, from: run.agentProfileId, to, ...answer }));

// Node lets go of the handler above before it ends by itself, and a SIGTERM in between would still kill it.
process.exit(0);
