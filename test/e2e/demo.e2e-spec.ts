import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SystemClock } from '../../src/clock/system-clock.js';
import { RunSignal } from '../../src/runs/run-signal.js';
import type { viewRun } from '../../src/runs/run-view.js';
import type { AdmissionGate } from '../../src/scheduler/admission-gate.js';
import { ALLOWANCE_LIMIT, ALLOWANCE_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { AssignmentAllowanceGate } from '../../src/scheduler/gates/assignment-allowance.gate.js';
import { ServerAddress } from '../../src/worker/server-address.js';
import { onEachDatabase } from '../support/databases.js';
import { ADMIN_TOKEN, TestReveille } from '../support/reveille.js';

type RunView = ReturnType<typeof viewRun>;

interface HandOver {
  readonly from: string;
  readonly to: string;
  readonly outcome: string;
  readonly retryAt: string | null;
}

/** What an agent's program prints of its turn. */
interface Printed extends HandOver {
  readonly pid: number;
  readonly sessionId: string;
}

interface Demo {
  readonly decisions: readonly HandOver[];
  readonly agentAdmitted: number;
  readonly agentRefused: number;
  readonly runs: readonly RunView[];
  readonly sessions: readonly { id: string; taskId: string; agentProfileId: string; state: string }[];
  readonly metrics: Readonly<Record<string, number>>;
}

const ROOT = join(__dirname, '../..');
const HAND_OVER = join(ROOT, 'examples/agents/hand-over.mjs');

/** A demo brings up a server, on PostgreSQL a database too, and starts a program at every turn. */
const DEMO_MS = 120_000;

/** How long the loop without a gate may take to get further than with one. */
const LOOP_MS = 60_000;

onEachDatabase('the demo', (database) => {
  let demo: Demo;
  let printed: readonly Printed[];

  beforeAll(async () => {
    const flags = ['--json', '--database', database];
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/demo.mjs', ...flags], {
      cwd: ROOT,
      timeout: DEMO_MS / 2,
    });
    expect(stdout).toMatch(/^\{.*\}\n$/);
    demo = JSON.parse(stdout) as Demo;
    printed = demo.runs.map(printedIn);
  }, DEMO_MS);

  it('shows the allowance admitted, the next hand-over refused, and when it would pass', () => {
    const outcomes = demo.decisions.map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array<string>(ALLOWANCE_LIMIT).fill('queued'), 'rate_limited']);
    expect(demo).toMatchObject({ agentAdmitted: ALLOWANCE_LIMIT, agentRefused: 1 });

    const [oldest] = demo.runs.filter(({ actorType }) => actorType === 'agent');
    const retryAt = new Date(Date.parse(oldest?.requestedAt ?? '') + ALLOWANCE_WINDOW_MS).toISOString();
    expect(demo.decisions.map((decision) => decision.retryAt)).toEqual([
      ...Array<null>(ALLOWANCE_LIMIT).fill(null),
      retryAt,
    ]);
  });

  it('tells of the hand-overs what the agents were answered, back and forth', () => {
    const told = printed.map(({ from, to, outcome, retryAt }) => ({ from, to, outcome, retryAt }));
    expect(demo.decisions).toEqual(told);
    const givers = demo.decisions.map(({ from }) => from);
    expect(demo.decisions.slice(0, -1).map(({ to }) => to)).toEqual(givers.slice(1));
    expect(new Set(givers).size).toBe(2);
  });

  it('has every admitted hand-over answered by one run, and every run finished by a process of its own', () => {
    const [first, ...rest] = demo.runs;
    expect(first?.actorType).toBe('user');
    expect(
      rest.map(({ actorType, actorId, agentProfileId }) => [actorType, actorId, agentProfileId]),
    ).toEqual(demo.decisions.slice(0, -1).map(({ from, to }) => ['agent', from, to]));
    expect(demo.runs.map(({ status, coalescedCount }) => [status, coalescedCount])).toEqual(
      demo.runs.map(() => ['finished', 1]),
    );
    expect(new Set([process.pid, ...printed.map(({ pid }) => pid)]).size).toBe(1 + demo.runs.length);
  });

  it('keeps one live session to an agent and uses it again', () => {
    const agents = demo.sessions.map(({ agentProfileId }) => agentProfileId).sort();
    expect(agents).toEqual([...new Set(demo.decisions.map(({ from }) => from))].sort());
    expect(demo.sessions.map(({ state }) => state)).toEqual(['IDLE', 'IDLE']);
    expect(new Set(demo.sessions.map(({ taskId }) => taskId)).size).toBe(1);

    const sessionOf = new Map(demo.sessions.map(({ id, agentProfileId }) => [agentProfileId, id]));
    const own = demo.runs.map(({ agentProfileId }) => sessionOf.get(agentProfileId));
    expect(demo.runs.map(({ sessionId }) => sessionId)).toEqual(own);
    expect(printed.map(({ sessionId }) => sessionId)).toEqual(own);
  });

  it('counts what happened', () => {
    const { metrics, runs, sessions } = demo;
    expect(metrics).toMatchObject({
      'office_wake_decisions_total{outcome="queued"}': runs.length,
      'office_wake_decisions_total{outcome="coalesced"}': 0,
      'office_wake_decisions_total{outcome="rate_limited"}': 1,
      'office_assignment_rate_limit_total{reason="allowance_exhausted"}': 1,
      'office_runs_finished_total{status="finished"}': runs.length,
      'office_sessions_total{result="created"}': sessions.length,
      'office_sessions_total{result="reused"}': runs.length - sessions.length,
      'office_sessions_total{result="conflict"}': 0,
    });
  });
});

onEachDatabase('the same two agents without the allowance', (database) => {
  it(
    'go on past it',
    async () => {
      const reveille = await TestReveille.serve(
        database,
        { worker: true, clock: new SystemClock() },
        (builder) => builder.overrideProvider(AssignmentAllowanceGate).useValue(LETS_EVERYTHING_PASS),
      );
      try {
        const url = await listen(reveille);
        const deadline = AbortSignal.timeout(LOOP_MS);
        const { workspaceId, taskId } = await setUp(url);
        const runs = () => runsOf(url, taskId);
        await call(url, 'PATCH', `/v1/tasks/${taskId}`, { assigneeAgentProfileId: 'ada' });

        const past = await eventually(
          reveille,
          deadline,
          runs,
          (seen) => queuedByAgents(seen) > ALLOWANCE_LIMIT,
        );
        expect(queuedByAgents(past)).toBeGreaterThan(ALLOWANCE_LIMIT);

        await call(url, 'PUT', `/v1/workspaces/${workspaceId}/pause`, { reason: 'they would never stop' });
        const still = await eventually(reveille, deadline, runs, (seen) =>
          seen.every(({ status }) => status !== 'claimed'),
        );
        expect(new Set(still.map(({ status }) => status))).not.toContain('failed');
      } finally {
        await reveille.stop();
      }
    },
    DEMO_MS,
  );
});

const LETS_EVERYTHING_PASS: AdmissionGate = {
  name: 'assignment_allowance',
  onReadFailure: 'raise',
  judge: () => Promise.resolve({ kind: 'pass' }),
};

function printedIn({ outputSummary }: RunView): Printed {
  return JSON.parse(outputSummary ?? 'null') as Printed;
}

/** How many hand-overs their agents know to have been admitted. */
function queuedByAgents(runs: readonly RunView[]): number {
  const finished = runs.filter(({ status }) => status === 'finished');
  return finished.filter((run) => printedIn(run).outcome === 'queued').length;
}

/** On a real port, because the agents' programs are other processes. */
async function listen({ app }: TestReveille): Promise<string> {
  const server = app as NestFastifyApplication;
  await server.listen(0, '127.0.0.1');
  const url = await server.getUrl();
  app.get(ServerAddress, { strict: false }).url = url;
  return url;
}

/** The office of the demo, as scripts/demo/loop.mjs makes it. */
async function setUp(url: string): Promise<{ workspaceId: string; taskId: string }> {
  const { id: workspaceId } = await call<{ id: string }>(url, 'POST', '/v1/workspaces', { name: 'Demo' });
  for (const [id, other] of [
    ['ada', 'grace'],
    ['grace', 'ada'],
  ] as const) {
    const command = [process.execPath, HAND_OVER, other];
    await call(url, 'POST', '/v1/agents', { id, workspaceId, name: id, role: 'worker', command });
  }
  const task = { workspaceId, title: 'Decide who decides', kind: 'office' };
  const { id: taskId } = await call<{ id: string }>(url, 'POST', '/v1/tasks', task);
  for (const id of ['ada', 'grace']) {
    await call(url, 'PUT', `/v1/tasks/${taskId}/participants/${id}`, { role: 'reviewer' });
  }
  return { workspaceId, taskId };
}

async function runsOf(url: string, taskId: string): Promise<readonly RunView[]> {
  const { items } = await call<{ items: RunView[] }>(url, 'GET', `/v1/runs?taskId=${taskId}&limit=200`);
  return items;
}

async function call<T>(url: string, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Looks again whenever a run was queued or has ended, until what it sees will do. */
async function eventually<T>(
  reveille: TestReveille,
  deadline: AbortSignal,
  look: () => Promise<T>,
  willDo: (seen: T) => boolean,
): Promise<T> {
  const tooLate = once(deadline, 'abort');
  for (;;) {
    // Listens before it looks: what happens in between is not missed.
    const signal = nextSignal(reveille.get(RunSignal));
    const seen = await look();
    if (willDo(seen)) return seen;
    deadline.throwIfAborted();
    await Promise.race([signal, tooLate]);
  }
}

function nextSignal(runs: RunSignal): Promise<void> {
  return new Promise((resolve) => {
    const quiet = runs.listen(() => {
      quiet();
      resolve();
    });
  });
}
