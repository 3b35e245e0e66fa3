import { onEachDatabase } from '../support/databases.js';
import { Api } from '../support/api.js';
import { anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** What wants no token: probes, metrics (which have one of their own), and the API's description. */
const OPEN = ['/health/live', '/health/ready', '/metrics'];

onEachDatabase('rights over HTTP', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  it('wants a token on every route of the description but the open ones', async () => {
    const nobody = new Api(reveille(), null);
    const { body } = await nobody.get<OpenApi>('/openapi.json');
    const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method, path: path.replaceAll(/\{[^}]+\}/g, 'x') })),
    );
    expect(routes.length).toBeGreaterThan(25);
    for (const { method, path } of routes) {
      const answer = await nobody.call(method as 'get', path, method === 'get' ? undefined : {});
      const expected = OPEN.includes(path) ? 200 : 401;
      expect({ method, path, status: answer.status }).toEqual({ method, path, status: expected });
    }
  });

  it.each(['nonsense', 'rvl_admin_00', `rvl_admin_${'0'.repeat(32)}_${'0'.repeat(72)}`])(
    'refuses the token %s',
    async (token) => {
      const answer = await new Api(reveille(), token).get('/v1/me');
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated', status: 401 } });
      expect(answer.headers['content-type']).toContain('application/problem+json');
    },
  );

  it('tells every caller who they are', async () => {
    const { user, worker, asAgents, agents, workspaceId } = await anOffice(reveille());
    expect((await user.get('/v1/me')).body).toMatchObject({
      kind: 'user',
      workspaceId,
      agentProfileId: null,
    });
    expect((await worker.get('/v1/me')).body).toMatchObject({ kind: 'worker', workspaceId });
    expect((await asAgents[0]?.get('/v1/me'))?.body).toMatchObject({
      kind: 'agent',
      agentProfileId: agents[0],
    });
  });

  it('answers 404 for what another workspace has', async () => {
    const mine = await anOffice(reveille());
    const theirs = await anOffice(reveille());
    const paths = [
      `/v1/workspaces/${theirs.workspaceId}`,
      `/v1/tasks/${theirs.taskId}`,
      `/v1/agents/${theirs.agents[0] ?? ''}`,
    ];
    for (const path of paths) {
      expect((await theirs.user.get(path)).status).toBe(200);
      expect((await mine.user.get(path)).status).toBe(404);
    }
    const body = { assigneeAgentProfileId: theirs.agents[0] };
    expect((await mine.user.patch(`/v1/tasks/${mine.taskId}`, body)).status).toBe(404);
  });

  it('keeps agents and workers to what is theirs', async () => {
    const { worker, asAgents, workspaceId, agents, taskId } = await anOffice(reveille());
    const agent = asAgents[0] ?? worker;
    const refused = [
      await agent.post('/v1/tasks', { workspaceId, title: 'T', kind: 'office' }),
      await agent.post('/v1/runs/claim', { workerId: 'w' }),
      await agent.put(`/v1/workspaces/${workspaceId}/pause`, { reason: 'mine' }),
      await agent.patch(`/v1/agents/${agents[0] ?? ''}`, { canAssignTasks: true }),
      await agent.post('/v1/wakes', {
        agentProfileId: agents[1],
        reason: 'task_assigned',
        payload: { task_id: taskId },
      }),
      await worker.post('/v1/wakes', { agentProfileId: agents[1], reason: 'hello', payload: {} }),
      await worker.patch(`/v1/tasks/${taskId}`, { title: 'mine' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
  });

  it('writes the caller over whatever a payload says of an actor', async () => {
    const { asAgents, agents, user } = await anOffice(reveille());
    const payload = { actor_type: 'user', actor_id: 'somebody else', note: 'kept' };
    const wake = { agentProfileId: agents[1], reason: 'hello', payload };
    const answer = await asAgents[0]?.post<{ runId: string; outcome: string }>('/v1/wakes', wake);
    expect(answer).toMatchObject({ status: 201, body: { outcome: 'queued', admitted: true, gate: null } });
    const run = await user.get(`/v1/runs/${answer?.body.runId ?? ''}`);
    expect(run.body).toMatchObject({
      actorType: 'agent',
      actorId: agents[0],
      payload: { actor_type: 'agent', actor_id: agents[0], note: 'kept' },
    });
  });

  it('opens nothing to a token that was revoked', async () => {
    const { user, admin } = await anOffice(reveille());
    const { body } = await user.get<{ id: string }>('/v1/me');
    expect((await admin.delete(`/v1/tokens/${body.id}`)).status).toBe(204);
    expect((await user.get('/v1/me')).status).toBe(401);
  });
});
