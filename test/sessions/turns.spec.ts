import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SystemClock } from '../../src/clock/system-clock.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { CommandExecutor } from '../../src/worker/executors/command.executor.js';
import { ServerAddress } from '../../src/worker/server-address.js';
import type { Api } from '../support/api.js';
import { Conversation, type ToldEvent } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { type EnsuredView, taskIn } from '../support/session-api.js';
import { until } from '../support/until.js';

interface Claims {
  readonly claims: readonly { readonly run: { readonly id: string }; readonly claimToken: string }[];
}

onEachDatabase('the session of a turn', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  afterEach(() => jest.restoreAllMocks());

  const scene = async (kind: 'office' | 'kanban') => {
    const office = await anOffice(reveille());
    const taskId = await taskIn(office, kind);
    return { office, taskId, conversation: Conversation.about(reveille(), { ...office, taskId }) };
  };

  /** Assigns the task to the office's first agent, claims the run and opens its session. */
  const turn = async (office: Office, taskId: string) => {
    const body = { assigneeAgentProfileId: pick(office.agents) };
    expect((await office.user.patch(`/v1/tasks/${taskId}`, body)).status).toBe(200);
    // Past the moment in which a second assignment would be merged into the first.
    reveille().clock.advance(60_000);
    const claimed = await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w', leaseSeconds: 3600 });
    const { run, claimToken } = pick(claimed.body.claims);
    const path = `/v1/runs/${run.id}`;
    const open = (executionProfileId = 'profile') =>
      office.worker.post<EnsuredView>(`${path}/session`, { claimToken, executionProfileId });
    const finish = async (acpSessionId?: string) => {
      expect((await office.worker.post(`${path}/finish`, { claimToken, acpSessionId })).status).toBe(200);
    };
    return { open, finish };
  };

  it('AC-OFFICE-SESSION-IDENTITY-003.5 is the one conversation of an office task: made once, IDLE between turns, told of at every step', async () => {
    const { office, taskId, conversation } = await scene('office');
    const first = await turn(office, taskId);
    const opened = await first.open();
    expect(opened.body).toMatchObject({ created: true, session: { state: 'RUNNING' } });
    expect((await first.open()).body).toEqual({ ...opened.body, created: false });
    await first.finish('conversation-1');
    expect(await conversation.row()).toMatchObject({ state: 'IDLE' });
    const second = await turn(office, taskId);
    const { session } = (await second.open()).body;
    expect(session).toMatchObject({ id: opened.body.session.id, state: 'RUNNING' });
    expect(session.metadata).toEqual({ origin: 'task_initial', acp_session_id: 'conversation-1' });
    await second.finish();
    const metadata = '{"origin":"task_initial","acp_session_id":"conversation-1"}';
    expect(await conversation.row()).toMatchObject({ state: 'IDLE', metadata });
    expect((await conversation.events()).map(stepOf)).toEqual([
      'session.created',
      'CREATED → RUNNING',
      'RUNNING → IDLE',
      'IDLE → RUNNING',
      'RUNNING → IDLE',
    ]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.2 is a fresh one on a kanban task, though the last still waits for input', async () => {
    const { office, taskId, conversation } = await scene('kanban');
    const ids: string[] = [];
    for (let time = 0; time < 2; time++) {
      const { open, finish } = await turn(office, taskId);
      const { body } = await open();
      expect(body).toMatchObject({ created: true, session: { state: 'RUNNING' } });
      ids.push(body.session.id);
      await finish();
    }
    expect(new Set(ids).size).toBe(2);
    const states = (await conversation.rows()).map((row) => row['state']);
    expect(states).toEqual(['WAITING_FOR_INPUT', 'WAITING_FOR_INPUT']);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.8 is the one that somebody launched before', async () => {
    const { office, taskId, conversation } = await scene('office');
    const launched = await conversation.launch({ agentProfileId: pick(office.agents) });
    const { open } = await turn(office, taskId);
    expect((await open()).body).toMatchObject({ created: false, session: { id: launched.id } });
    expect((await conversation.row())['state']).toBe('RUNNING');
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 forgets what its provider calls it when it ends bound to another profile', async () => {
    const { office, taskId, conversation } = await scene('office');
    const { open, finish } = await turn(office, taskId);
    expect((await open('codex')).body).toMatchObject({ created: true });
    const rebound = await conversation.ensure({
      agentProfileId: pick(office.agents),
      executionProfileId: 'claude',
    });
    expect(rebound).toMatchObject({ created: false, session: { state: 'RUNNING' } });
    await finish('of-codex');
    expect(await conversation.row()).toMatchObject({
      state: 'IDLE',
      execution_profile_id: 'claude',
      metadata: '{"origin":"task_initial"}',
    });
  });
});

onEachDatabase('the session of a turn in this process', (database) => {
  const reveille = useReveille(async () => {
    const running = await TestReveille.serve(database, { worker: true, clock: new SystemClock() });
    const app = running.app as NestFastifyApplication;
    await app.listen(0, '127.0.0.1');
    running.get(ServerAddress).url = await app.getUrl();
    return running;
  });
  afterEach(() => jest.restoreAllMocks());

  it('AC-OFFICE-SESSION-IDENTITY-003.5 has been told of in the log before the agent’s program is started', async () => {
    const office = await anOffice(reveille(), 1);
    const conversation = Conversation.about(reveille(), office);
    const agent = pick(office.agents);
    await office.admin.patch(`/v1/agents/${agent}`, { command: [process.execPath, '-e', ''] });
    const starts = jest.spyOn(reveille().get(CommandExecutor), 'start');
    const runs = reveille().get(RunsService);
    const openSession = runs.openSession.bind(runs);
    let before: { readonly events: readonly ToldEvent[]; readonly starts: number } | undefined;
    jest.spyOn(runs, 'openSession').mockImplementation(async (...request) => {
      const opened = await openSession(...request);
      // The turn waits here: whatever is read now was there before its launch.
      before = { events: await conversation.events(), starts: starts.mock.calls.length };
      return opened;
    });
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: agent });
    await until('the run is finished', () => finished(office.user, office.taskId));
    expect(starts).toHaveBeenCalledTimes(1);
    expect(before?.starts).toBe(0);
    expect(before?.events.map(stepOf)).toEqual(['session.created', 'CREATED → RUNNING']);
    expect((await conversation.events()).map(stepOf)).toEqual([
      'session.created',
      'CREATED → RUNNING',
      'RUNNING → IDLE',
    ]);
  });
});

/** What an event tells, in short. */
function stepOf({ type, data }: ToldEvent): string {
  return type === 'session.state_changed' ? `${data['from'] ?? ''} → ${data['to'] ?? ''}` : type;
}

async function finished(user: Api, taskId: string): Promise<true | undefined> {
  const { body } = await user.get<{ items: { status: string }[] }>(`/v1/runs?taskId=${taskId}`);
  return body.items.some(({ status }) => status === 'finished') ? true : undefined;
}
