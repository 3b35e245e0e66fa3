import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';

interface Claim {
  readonly run: { readonly id: string; readonly status: string; readonly attempt: number };
  readonly wakes: readonly { readonly payload: object }[];
  readonly agent: { readonly id: string; readonly status: string };
  readonly claimToken: string;
  readonly agentToken: string;
}

interface Claims {
  readonly claims: readonly Claim[];
}

onEachDatabase('claiming over HTTP', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  async function assigned(): Promise<Office> {
    const office = await anOffice(reveille());
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[0] });
    return office;
  }

  async function claimOne(office: Office): Promise<Claim> {
    const { status, body } = await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w', max: 10 });
    expect(status).toBe(200);
    const [claim] = body.claims;
    if (claim === undefined) throw new Error('Nothing was claimed.');
    return claim;
  }

  it('AC-OFFICE-WORKER-001.3 AC-OFFICE-WORKER-001.4 takes a run from its claim through its session to its end', async () => {
    const office = await assigned();
    const claim = await claimOne(office);
    expect(claim.run).toMatchObject({ status: 'claimed', attempt: 1 });
    expect(claim.wakes).toHaveLength(1);
    expect(claim.agent).toMatchObject({ id: office.agents[0], status: 'working' });
    const run = `/v1/runs/${claim.run.id}`;
    const { claimToken } = claim;

    const opened = await office.worker.post<{ created: boolean; session: { id: string } }>(`${run}/session`, {
      claimToken,
      executionProfileId: 'default',
    });
    expect(opened.body).toMatchObject({
      created: true,
      session: { state: 'RUNNING', taskId: office.taskId },
    });
    expect((await office.worker.post(`${run}/heartbeat`, { claimToken })).body).toMatchObject({
      stop: false,
    });
    const finished = await office.worker.post(`${run}/finish`, { claimToken, outputSummary: 'done' });
    expect(finished.body).toMatchObject({ status: 'finished', outputSummary: 'done' });

    const session = await office.user.get(`/v1/sessions/${opened.body.session.id}`);
    expect(session.body).toMatchObject({ state: 'IDLE' });
    const task = await office.user.get(`/v1/tasks/${office.taskId}`);
    expect(task.body).toMatchObject({ state: 'IN_PROGRESS' });
    const late = await office.worker.post(`${run}/finish`, { claimToken });
    expect(late).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
  });

  it('AC-OFFICE-WORKER-001.3 lets the agent act inside its run with the token of the claim, and no longer', async () => {
    const office = await assigned();
    const { run, claimToken, agentToken } = await claimOne(office);
    const agent = office.admin.as(agentToken);
    expect((await agent.get('/v1/me')).body).toMatchObject({ kind: 'agent', runId: run.id });
    await office.worker.post(`/v1/runs/${run.id}/finish`, { claimToken });
    expect((await agent.get('/v1/me')).status).toBe(401);
  });

  it('AC-OFFICE-WORKER-001.2 never hands out two runs of one agent', async () => {
    const office = await assigned();
    await office.user.post('/v1/wakes', { agentProfileId: office.agents[0], reason: 'hello', payload: {} });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w', max: 10 }),
      ),
    );
    expect(answers.flatMap(({ body }) => body.claims)).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-002.3 cancels at the claim what has been overtaken', async () => {
    const office = await assigned();
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: null });
    const { body } = await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w' });
    expect(body.claims).toEqual([]);
    const runs = await office.user.get<{ items: object[] }>(`/v1/runs?taskId=${office.taskId}`);
    expect(runs.body.items).toEqual([
      expect.objectContaining({ status: 'cancelled', cancelReason: 'task_assignee_changed' }),
    ]);
  });

  it('AC-OFFICE-WORKER-004.1 keeps the agent busy after a cancel until its worker has let go', async () => {
    const office = await assigned();
    const { run, claimToken } = await claimOne(office);
    const cancelled = await office.user.post(`/v1/runs/${run.id}/cancel`, { reason: 'no longer needed' });
    expect(cancelled.body).toMatchObject({ status: 'cancelled', cancelReason: 'no longer needed' });
    await office.user.post('/v1/wakes', { agentProfileId: office.agents[0], reason: 'hello', payload: {} });
    const before = await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w' });
    expect(before.body.claims).toEqual([]);
    const heartbeat = await office.worker.post(`/v1/runs/${run.id}/heartbeat`, { claimToken });
    expect(heartbeat).toMatchObject({ status: 200, body: { stop: true, stopReason: 'cancelled' } });
    const acknowledged = await office.worker.post(`/v1/runs/${run.id}/finish`, { claimToken });
    expect(acknowledged).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
    expect((await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w' })).body.claims).toHaveLength(
      1,
    );
    const again = await office.user.post(`/v1/runs/${run.id}/cancel`, { reason: 'again' });
    expect(again).toMatchObject({ status: 409, body: { code: 'illegal_transition' } });
  });

  it('AC-OFFICE-WORKER-002.1 AC-OFFICE-WORKER-004.2 hands out nothing in a paused workspace, and tells a running turn to stop', async () => {
    const office = await assigned();
    const { run, claimToken } = await claimOne(office);
    await office.user.put(`/v1/workspaces/${office.workspaceId}/pause`, { reason: 'stop' });
    const heartbeat = await office.worker.post(`/v1/runs/${run.id}/heartbeat`, { claimToken });
    expect(heartbeat.body).toMatchObject({ stop: true, stopReason: 'paused' });
    const released = await office.worker.post(`/v1/runs/${run.id}/release`, { claimToken });
    expect(released.body).toMatchObject({ status: 'queued', attempt: 0 });
    expect((await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w' })).body.claims).toEqual([]);
    await office.user.delete(`/v1/workspaces/${office.workspaceId}/pause`);
    expect((await office.worker.post<Claims>('/v1/runs/claim', { workerId: 'w' })).body.claims).toHaveLength(
      1,
    );
  });

  it('AC-OFFICE-WORKER-004.3 interrupts the turn of an agent whose task is given to another, and ends its conversation', async () => {
    const office = await assigned();
    const { run, claimToken } = await claimOne(office);
    const opened = await office.worker.post<{ session: { id: string } }>(`/v1/runs/${run.id}/session`, {
      claimToken,
      executionProfileId: 'default',
    });
    const body = { assigneeAgentProfileId: office.agents[1] };
    const update = await office.user.patch<{ interruptedSessionId: string }>(
      `/v1/tasks/${office.taskId}`,
      body,
    );
    expect(update.body.interruptedSessionId).toBe(opened.body.session.id);
    const heartbeat = await office.worker.post(`/v1/runs/${run.id}/heartbeat`, { claimToken });
    expect(heartbeat.body).toMatchObject({ stop: true, stopReason: 'interrupted' });
    const session = await office.user.get(`/v1/sessions/${opened.body.session.id}`);
    expect(session.body).toMatchObject({ state: 'COMPLETED' });
  });
});
