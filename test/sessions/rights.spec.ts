import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { launchIn, sessionsIn } from '../support/session-api.js';

onEachDatabase('rights over sessions', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  const scene = async () => {
    const office = await anOffice(reveille());
    const [agent, other] = [pick(office.agents, 0), pick(office.agents, 1)];
    const session = await launchIn(office, office.taskId, agent);
    return { office, agent, other, session };
  };

  /** Everything that can be asked about the office's sessions, by what it is. */
  const calls = ({ office, agent, session }: Awaited<ReturnType<typeof scene>>) => {
    const ofTask = `/v1/tasks/${office.taskId}/sessions`;
    const body = { agentProfileId: agent, executionProfileId: 'profile' };
    return {
      read: (api: Api) => api.get(`/v1/sessions/${session.id}`),
      ofTask: (api: Api) => api.get(ofTask),
      list: (api: Api) => api.get('/v1/sessions'),
      ensure: (api: Api) => api.post(`${ofTask}/ensure`, body),
      launch: (api: Api) => api.post(ofTask, body),
      replace: (api: Api) => api.post(`/v1/sessions/${session.id}/replace`),
      spawn: (api: Api) => api.post(`/v1/sessions/${session.id}/spawn`),
      move: (api: Api) => api.patch(`/v1/sessions/${session.id}`, { state: 'RUNNING' }),
    };
  };

  const statusesOf = async (of: Awaited<ReturnType<typeof scene>>, api: Api) => {
    const statuses: Record<string, number> = {};
    for (const [name, call] of Object.entries(calls(of))) statuses[name] = (await call(api)).status;
    return statuses;
  };

  it('gives people everything', async () => {
    const scenery = await scene();
    const allowed = { read: 200, ofTask: 200, list: 200, ensure: 200, launch: 201, replace: 201, spawn: 201 };
    expect(await statusesOf(scenery, scenery.office.user)).toEqual({ ...allowed, move: 200 });
  });

  it('lets an agent read its own and spawn from its own, and nothing else', async () => {
    const scenery = await scene();
    const own = { read: 200, ofTask: 200, list: 200, ensure: 403, launch: 403, replace: 403, spawn: 201 };
    const [mine, others] = [pick(scenery.office.asAgents, 0), pick(scenery.office.asAgents, 1)];
    expect(await statusesOf(scenery, mine)).toEqual({ ...own, move: 403 });
    expect(await statusesOf(scenery, others)).toEqual({ ...own, read: 403, spawn: 403, move: 403 });
    const { body } = await others.get<{ items: unknown[] }>('/v1/sessions');
    expect(body.items).toEqual([]);
    expect((await mine.get<{ items: unknown[] }>('/v1/sessions')).body.items).toHaveLength(2);
  });

  it('gives a worker nothing', async () => {
    const scenery = await scene();
    const statuses = Object.values(await statusesOf(scenery, scenery.office.worker));
    expect(statuses).toEqual(statuses.map(() => 403));
    expect(await sessionsIn(scenery.office, scenery.office.taskId)).toHaveLength(1);
  });

  it('hides what another workspace has', async () => {
    const scenery = await scene();
    const stranger = await anOffice(reveille());
    const { list, ...others } = await statusesOf(scenery, stranger.user);
    expect(Object.values(others)).toEqual(Object.values(others).map(() => 404));
    expect(list).toBe(200);
    expect((await stranger.user.get<{ items: unknown[] }>('/v1/sessions')).body.items).toEqual([]);
  });

  it('knows neither agents, tasks nor sessions that are not of the workspace', async () => {
    const { office, session } = await scene();
    const stranger = await anOffice(reveille());
    const ofTask = `/v1/tasks/${office.taskId}/sessions`;
    for (const agentProfileId of ['nobody', pick(stranger.agents)]) {
      const body = { agentProfileId, executionProfileId: 'profile' };
      const answers = [
        await office.user.post(`${ofTask}/ensure`, body),
        await office.user.post(ofTask, body),
        await office.admin.post(ofTask, body),
        await office.user.post(`/v1/sessions/${session.id}/spawn`, { agentProfileId }),
      ];
      for (const answer of answers)
        expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    const nowhere = [
      await office.user.get('/v1/sessions/nowhere'),
      await office.user.patch('/v1/sessions/nowhere', { state: 'RUNNING' }),
      await office.user.post('/v1/sessions/nowhere/replace'),
      await office.user.post('/v1/sessions/nowhere/spawn'),
      await office.user.post('/v1/tasks/nowhere/sessions', { executionProfileId: 'profile' }),
    ];
    expect(nowhere.map(({ status }) => status)).toEqual(nowhere.map(() => 404));
    expect(await sessionsIn(office, office.taskId)).toHaveLength(1);
  });

  it('makes nothing for an agent that is deleted', async () => {
    const { office, agent, other } = await scene();
    const spawner = await launchIn(office, office.taskId, other);
    await office.admin.delete(`/v1/agents/${agent}`);
    const ofTask = `/v1/tasks/${office.taskId}/sessions`;
    const body = { agentProfileId: agent, executionProfileId: 'profile' };
    const answers = [
      await office.user.post(`${ofTask}/ensure`, body),
      await office.user.post(ofTask, body),
      await office.user.post(`/v1/sessions/${spawner.id}/spawn`, { agentProfileId: agent }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await sessionsIn(office, office.taskId)).toHaveLength(2);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.4 refuses what is malformed before anything is made', async () => {
    const { office, agent, session } = await scene();
    const ofTask = `/v1/tasks/${office.taskId}/sessions`;
    const whole = { agentProfileId: agent, executionProfileId: 'profile' };
    const answers = [
      await office.user.post(`${ofTask}/ensure`, { ...whole, agentProfileId: '' }),
      await office.user.post(`${ofTask}/ensure`, { ...whole, executionProfileId: '' }),
      await office.user.post(`${ofTask}/ensure`, { agentProfileId: agent }),
      await office.user.post(`${ofTask}/ensure`, { executionProfileId: 'profile' }),
      await office.user.post(`${ofTask}/ensure`, { ...whole, state: 'RUNNING' }),
      await office.user.post(ofTask, { ...whole, agentProfileId: 'a:b' }),
      await office.user.post(ofTask, {}),
      await office.user.post(`/v1/sessions/${session.id}/spawn`, { agentProfileId: 7 }),
      await office.user.patch(`/v1/sessions/${session.id}`, { state: 'A_STATE_OF_TOMORROW' }),
      await office.user.patch(`/v1/sessions/${session.id}`, { state: 'RUNNING', metadata: {} }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(await sessionsIn(office, office.taskId)).toEqual([session]);
  });
});
