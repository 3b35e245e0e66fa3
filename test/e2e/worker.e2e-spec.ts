import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SystemClock } from '../../src/clock/system-clock.js';
import { RunEndings } from '../../src/runs/run-endings.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { ServerAddress } from '../../src/worker/server-address.js';
import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

interface RunView {
  readonly id: string;
  readonly status: string;
  readonly sessionId: string | null;
  readonly outputSummary: string | null;
  readonly errorMessage: string | null;
  readonly cancelReason: string | null;
  readonly retryCount: number;
}

const NODE = process.execPath;

onEachDatabase('running agents in this process', (database) => {
  const reveille = useReveille(async () => {
    const running = await TestReveille.serve(database, { worker: true, clock: new SystemClock() });
    const app = running.app as NestFastifyApplication;
    await app.listen(0, '127.0.0.1');
    running.get(ServerAddress).url = await app.getUrl();
    return running;
  });

  /** An office whose first agent has the program and is assigned the task. */
  async function running(command: readonly string[], settings: object = {}) {
    const office = await anOffice(reveille());
    await office.admin.patch(`/v1/agents/${office.agents[0] ?? ''}`, { command, ...settings });
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[0] });
    return office;
  }

  function runOf(user: Api, taskId: string, status: string): Promise<RunView> {
    return until(`a run of ${taskId} is ${status}`, async () => {
      const { body } = await user.get<{ items: RunView[] }>(`/v1/runs?taskId=${taskId}`);
      return body.items.find((run) => run.status === status);
    });
  }

  /** The run once its turn has failed, which waits then to be tried again. */
  const failedRunOf = (user: Api, taskId: string) =>
    until(`a run of ${taskId} has failed`, async () => {
      const { body } = await user.get<{ items: RunView[] }>(`/v1/runs?taskId=${taskId}&status=queued`);
      return body.items.find(({ retryCount }) => retryCount === 1);
    });

  it('gives the program its run, a token of its own and a short environment, and keeps what it prints', async () => {
    const script = `
      let input = '';
      process.stdin.on('data', (chunk) => { input += chunk; }).on('end', async () => {
        const { run, wakes, agent, session } = JSON.parse(input);
        const headers = { Authorization: 'Bearer ' + process.env.REVEILLE_TOKEN };
        const me = await (await fetch(process.env.REVEILLE_URL + '/v1/me', { headers })).json();
        console.log(JSON.stringify({ run: run.id, wakes: wakes.length, agent: agent.id, session: session.id, me,
          environment: Object.keys(process.env).sort() }));
      });`;
    const { user, taskId, agents } = await running([NODE, '-e', script]);
    const run = await runOf(user, taskId, 'finished');
    const printed = JSON.parse(run.outputSummary ?? '') as { environment: string[] };
    expect(printed).toMatchObject({ run: run.id, wakes: 1, agent: agents[0], session: run.sessionId });
    expect(printed).toMatchObject({ me: { kind: 'agent', agentProfileId: agents[0], runId: run.id } });
    const known = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
    const ours = ['URL', 'TOKEN', 'RUN_ID', 'TASK_ID', 'SESSION_ID'].map((name) => `REVEILLE_${name}`);
    expect(printed.environment.filter((name) => !known.includes(name))).toEqual([...ours].sort());
    const session = await user.get(`/v1/sessions/${run.sessionId ?? ''}`);
    expect(session.body).toMatchObject({ state: 'IDLE', agentProfileId: agents[0] });
  });

  it('fails the run of a program that fails, with the tail of what it complained about', async () => {
    const { user, taskId } = await running(['sh', '-c', 'echo all is lost >&2; exit 3']);
    const run = await failedRunOf(user, taskId);
    expect(run.errorMessage).toContain('exit code 3');
    expect(run.errorMessage).toContain('all is lost');
  });

  it('fails the run of a program that cannot be started', async () => {
    const { user, taskId } = await running(['/nowhere/to/be/found']);
    const run = await failedRunOf(user, taskId);
    expect(run.errorMessage).toContain('could not be started');
  });

  it('passes arguments as they are, through no shell', async () => {
    const { user, taskId } = await running(['printf', '%s', '$HOME; `id` && *']);
    expect((await runOf(user, taskId, 'finished')).outputSummary).toBe('$HOME; `id` && *');
  });

  it('leaves the runs of an agent without a program to remote workers', async () => {
    const { user, worker, taskId, admin, agents } = await running(['true']);
    await runOf(user, taskId, 'finished');
    await admin.patch(`/v1/agents/${agents[0] ?? ''}`, { command: null });
    await user.patch(`/v1/tasks/${taskId}`, { assigneeAgentProfileId: agents[0] });
    await runOf(user, taskId, 'queued');
    const { body } = await worker.post<{ claims: object[] }>('/v1/runs/claim', { workerId: 'remote' });
    expect(body.claims).toHaveLength(1);
  });

  /** Says through the task's title that it is ready to be told to end, and waits for that. */
  const waiting = (onTerm: string) => `
    process.on('SIGTERM', () => { ${onTerm} });
    setInterval(() => undefined, 1000);
    fetch(process.env.REVEILLE_URL + '/v1/tasks/' + process.env.REVEILLE_TASK_ID, {
      method: 'PATCH',
      headers: { Authorization: 'Bearer ' + process.env.REVEILLE_TOKEN, 'Content-Type': 'application/json' },
      body: JSON.stringify({ title: 'ready' }),
    });`;

  async function interrupted(onTerm: string) {
    const office = await running([NODE, '-e', waiting(onTerm)]);
    await until('the program is ready', async () => {
      const { body } = await office.user.get<{ title: string }>(`/v1/tasks/${office.taskId}`);
      return body.title === 'ready' ? body : undefined;
    });
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[1] });
    return office;
  }

  it('asks an interrupted program to end, and takes one that does so well for finished', async () => {
    const { user, taskId } = await interrupted(`console.log('as you wish'); process.exit(0);`);
    expect((await runOf(user, taskId, 'finished')).outputSummary).toBe('as you wish');
  });

  it('keeps what an interrupted program complains about that does not end well, and does not try it again', async () => {
    const { user, taskId } = await interrupted('process.exit(1);');
    const run = await runOf(user, taskId, 'cancelled');
    expect(run.cancelReason).toBe('task_assignee_changed');
    expect(run.errorMessage).toContain('interrupted');
  });

  it('ends a program that takes longer than its agent may run', async () => {
    const { user, taskId } = await running(['sleep', '600'], { maxRunSeconds: 1 });
    const run = await failedRunOf(user, taskId);
    expect(run.errorMessage).toContain('took longer');
  });

  it('ends a turn whose program has ended, whoever it left behind with its output', async () => {
    const { user, taskId } = await running(['sh', '-c', 'setsid sleep 60 & echo done']);
    expect((await runOf(user, taskId, 'finished')).outputSummary).toBe('done');
  });

  it('keeps output that no database could', async () => {
    const { user, taskId } = await running(['printf', 'a\\000b']);
    expect((await runOf(user, taskId, 'finished')).outputSummary).toBe('a\uFFFDb');
  });
});

onEachDatabase('a server that stops while agents run', (database) => {
  it('AC-OFFICE-WORKER-008.2 lets none of them keep it, and puts their runs back without an attempt spent', async () => {
    const running = await TestReveille.serve(database, {
      worker: true,
      clock: new SystemClock(),
      drainSeconds: 0,
    });
    const office = await anOffice(running);
    await office.admin.patch(`/v1/agents/${office.agents[0] ?? ''}`, { command: ['sleep', '600'] });
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[0] });
    const runs = running.get(RunsService);
    const [run] = await runs.list({ taskId: office.taskId }, null, 1);
    await until('the run is claimed', async () =>
      (await runs.get(run?.id ?? '')).status === 'claimed' ? run : undefined,
    );
    const ended: string[] = [];
    const endings = running.get(RunEndings);
    const release = endings.release.bind(endings);
    jest.spyOn(endings, 'release').mockImplementation(async (...report) => {
      const released = await release(...report);
      ended.push(`${released.status} ${released.attempt}`);
      return released;
    });
    await running.stop();
    expect(ended).toEqual(['queued 0']);
  });
});
