import { AgentNotRunnableError } from '../../src/agents/agent.errors.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { OfficeScene } from '../support/office-scene.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const NOT_FOUND = { status: 404, body: { code: 'not_found' } };

onEachDatabase('deleting an agent', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille());

  it('answers 204, and finds nobody from then on', async () => {
    const scene = await open();
    const { admin } = scene.office;
    const agent = `/v1/agents/${scene.agent()}`;
    expect(await admin.delete(agent)).toMatchObject({ status: 204 });
    for (const later of [
      await admin.delete(agent),
      await admin.get(agent),
      await admin.patch(agent, { status: 'idle' }),
      await admin.post(`${agent}/tokens`),
    ])
      expect(later).toMatchObject(NOT_FOUND);
    const { body } = await scene.office.user.get<{ items: { id: string }[] }>('/v1/agents');
    expect(body.items.map(({ id }) => id)).toEqual([scene.agent(1)]);
    expect((await admin.get(`/v1/agents/${scene.agent(1)}`)).status).toBe(200);
  });

  it('is for administrators', async () => {
    const scene = await open();
    const { user, worker } = scene.office;
    for (const by of [user, worker, scene.asAgent()])
      expect(await by.delete(`/v1/agents/${scene.agent()}`)).toMatchObject({ status: 403 });
    expect((await user.get(`/v1/agents/${scene.agent()}`)).status).toBe(200);
  });

  it('keeps its id taken', async () => {
    const scene = await open();
    const { admin, workspaceId } = scene.office;
    await scene.removeAgent(scene.agent());
    const again = await admin.post('/v1/agents', { id: scene.agent(), workspaceId, name: 'Again' });
    expect(again).toMatchObject({ status: 409, body: { code: 'id_taken' } });
  });

  it('RUN-DEDUP-1 unassigns its tasks, each an assignment of its own that is told of and wakes nobody', async () => {
    const scene = await open();
    const own = [await scene.create({ assigneeAgentProfileId: scene.agent() }), await scene.create()];
    const other = await scene.create({ assigneeAgentProfileId: scene.agent(1) });
    for (const { id } of own) await scene.assign(scene.agent(), { taskId: id });
    const runs = await scene.runs();
    const told = (await scene.events('task.updated')).length;
    await scene.removeAgent(scene.agent());
    const generations = [3, 2];
    for (const [index, { id }] of own.entries())
      expect(await scene.task(id)).toMatchObject({
        assigneeAgentProfileId: null,
        assignmentGeneration: generations[index],
      });
    const news = (await scene.events('task.updated')).slice(told);
    expect(news.map(({ subject, data }) => ({ taskId: subject.taskId, ...data }))).toEqual(
      expect.arrayContaining(
        own.map(({ id }, index) => ({
          taskId: id,
          state: 'TODO',
          assigneeAgentProfileId: null,
          assignmentGeneration: generations[index],
        })),
      ),
    );
    expect(news).toHaveLength(own.length);
    expect(await scene.task(other.id)).toMatchObject({
      assigneeAgentProfileId: scene.agent(1),
      assignmentGeneration: 1,
    });
    expect((await scene.runs()).map(({ id }) => id)).toEqual(runs.map(({ id }) => id));
  });

  /** An office whose first agent holds a run, in a conversation, and has another one waiting. */
  const atWork = async () => {
    const scene = await open();
    await scene.assign(scene.agent());
    const held = await scene.claim();
    expect(await scene.report(held, 'session', { executionProfileId: 'default' })).toMatchObject({
      status: 200,
    });
    await scene.create({ assigneeAgentProfileId: scene.agent() });
    await scene.create({ assigneeAgentProfileId: scene.agent(1) });
    return { scene, held };
  };

  it('cancels its runs, queued and claimed, and tells of it', async () => {
    const { scene, held } = await atWork();
    await scene.removeAgent(scene.agent());
    const of = (agent: string) => async () =>
      (await scene.runs()).filter(({ agentProfileId }) => agentProfileId === agent);
    const cancelled = { status: 'cancelled', cancelReason: 'agent_deleted' };
    expect(await of(scene.agent())()).toMatchObject([cancelled, cancelled]);
    expect(await of(scene.agent(1))()).toMatchObject([{ status: 'queued' }]);
    const told = await scene.events('run.cancelled');
    expect(told.map(({ subject }) => subject.runId).sort()).toEqual(
      (await of(scene.agent())()).map(({ id }) => id).sort(),
    );
    expect(told.map(({ data }) => data)).toEqual([{ reason: 'agent_deleted' }, { reason: 'agent_deleted' }]);
    expect(await scene.report(held, 'heartbeat')).toMatchObject({
      status: 200,
      body: { stop: true, stopReason: 'cancelled' },
    });
    const late = await scene.report(held, 'finish');
    expect(late).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
    expect(await of(scene.agent())()).toMatchObject([cancelled, cancelled]);
  });

  it('leaves a run alone that has ended', async () => {
    const scene = await open();
    await scene.assign(scene.agent());
    await scene.report(await scene.claim(), 'finish');
    const runs = await scene.runs();
    expect(runs).toMatchObject([{ status: 'finished' }]);
    await scene.removeAgent(scene.agent());
    expect(await scene.runs()).toEqual(runs);
  });

  it('ends its conversations and tells of it, and no other’s', async () => {
    const { scene } = await atWork();
    await scene.report(await scene.claim(), 'session', { executionProfileId: 'default' });
    const told = (await scene.events('session.state_changed')).length;
    await scene.removeAgent(scene.agent());
    const states = (await scene.sessions()).map(({ agentProfileId, state }) => [agentProfileId, state]);
    expect(new Map(states as [string, string][])).toEqual(
      new Map([
        [scene.agent(), 'COMPLETED'],
        [scene.agent(1), 'RUNNING'],
      ]),
    );
    const news = (await scene.events('session.state_changed')).slice(told);
    expect(news).toMatchObject([
      { subject: { agentProfileId: scene.agent() }, data: { from: 'RUNNING', to: 'COMPLETED' } },
    ]);
  });

  it('voids its tokens, also that of the run it is in, and no other’s', async () => {
    const { scene, held } = await atWork();
    const inside = scene.office.admin.as(held.agentToken);
    expect((await inside.get('/v1/me')).status).toBe(200);
    await scene.removeAgent(scene.agent());
    expect((await inside.get('/v1/me')).status).toBe(401);
    expect((await scene.asAgent().get('/v1/me')).status).toBe(401);
    expect((await scene.asAgent(1).get('/v1/me')).status).toBe(200);
  });

  it('strikes what is owed to it, and to no other', async () => {
    const scene = await open();
    await scene.pause();
    await scene.change({ comment: { body: 'Look', mentions: [scene.agent(), scene.agent(1)] } });
    expect(await scene.notes()).toHaveLength(2);
    await scene.removeAgent(scene.agent());
    expect(await scene.notes()).toMatchObject([{ agentProfileId: scene.agent(1) }]);
  });

  it('takes its roles away, and no other’s', async () => {
    const scene = await open();
    const { user, taskId } = scene.office;
    for (const agent of [0, 1])
      for (const role of ['reviewer', 'watcher'])
        await user.put(`/v1/tasks/${taskId}/participants/${scene.agent(agent)}`, { role });
    await scene.removeAgent(scene.agent());
    const { body } = await user.get<{ items: object[] }>(`/v1/tasks/${taskId}/participants`);
    expect(body.items).toMatchObject([
      { agentProfileId: scene.agent(1), role: 'reviewer' },
      { agentProfileId: scene.agent(1), role: 'watcher' },
    ]);
  });

  it('lets nobody wake it, or give it anything, any more', async () => {
    const scene = await open();
    const { user, taskId, workspaceId } = scene.office;
    await scene.assign(scene.agent());
    await scene.removeAgent(scene.agent());
    const before = { task: await scene.task(), runs: await scene.runs() };
    const wake = { agentProfileId: scene.agent(), reason: 'hello', payload: {} };
    const assignment = { assigneeAgentProfileId: scene.agent() };
    const onboarding = { agentProfileId: scene.agent(), title: 'Start' };
    const task = { workspaceId, title: 'Task', kind: 'office', ...assignment };
    for (const refused of [
      await user.post('/v1/wakes', wake),
      await user.patch(`/v1/tasks/${taskId}`, assignment),
      await user.patch(`/v1/tasks/${taskId}`, { comment: { body: 'Look', mentions: [scene.agent()] } }),
      await user.put(`/v1/tasks/${taskId}/participants/${scene.agent()}`, { role: 'reviewer' }),
      await user.post(`/v1/workspaces/${workspaceId}/onboarding`, onboarding),
      await user.post('/v1/tasks', task),
    ])
      expect(refused).toMatchObject(NOT_FOUND);
    const batch = await user.post('/v1/wakes/batch', { wakes: [wake] });
    expect(batch.body).toMatchObject({ decisions: [{ error: { code: 'not_found' } }] });
    const start = await user.post(`/v1/tasks/${taskId}/auto-start`, { stepId: 'review' });
    expect(start).toMatchObject({ status: 409, body: { code: 'agent_not_runnable' } });
    const inside = reveille()
      .get(SchedulerService)
      .queueRun({ ...wake, payload: '{}' });
    await expect(inside).rejects.toThrow(AgentNotRunnableError);
    expect({ task: await scene.task(), runs: await scene.runs() }).toEqual(before);
  });

  it('does all of it or nothing', async () => {
    const { scene } = await atWork();
    RecordingLogger.of(reveille());
    const before = { runs: await scene.runs(), sessions: await scene.sessions(), task: await scene.task() };
    const remove = () => scene.office.admin.delete(`/v1/agents/${scene.agent()}`);
    expect(
      await whileFailing(reveille(), /^DELETE FROM "tokens" WHERE "agent_profile_id"/, remove),
    ).toMatchObject({ status: 500 });
    const after = { runs: await scene.runs(), sessions: await scene.sessions(), task: await scene.task() };
    expect(after).toEqual(before);
    expect((await scene.asAgent().get('/v1/me')).status).toBe(200);
    expect(await remove()).toMatchObject({ status: 204 });
  });
});
