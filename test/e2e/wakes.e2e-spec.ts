import { ALLOWANCE_LIMIT, COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';

interface Decision {
  readonly outcome: string;
  readonly runId: string | null;
  readonly gate: string | null;
}

interface Explanation {
  readonly outcome: string;
  readonly error: string | null;
  readonly gates: readonly {
    readonly gate: string;
    readonly verdict: string;
    readonly detail: object | null;
  }[];
}

interface Batch {
  readonly decisions: readonly { readonly decision?: Decision; readonly error?: { readonly code: string } }[];
}

onEachDatabase('wakes over HTTP', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const hello = ({ agents }: Office) => ({ agentProfileId: agents[0], reason: 'hello', payload: {} });

  it('answers 201 for a run of its own and 200 for every other decision', async () => {
    const office = await anOffice(reveille());
    const first = await office.user.post<Decision>('/v1/wakes', hello(office));
    expect(first).toMatchObject({ status: 201, body: { outcome: 'queued', gate: null } });
    const merged = await office.user.post<Decision>('/v1/wakes', hello(office));
    expect(merged).toMatchObject({
      status: 200,
      body: {
        outcome: 'coalesced',
        admitted: false,
        gate: 'coalescing',
        runId: first.body.runId,
        runStatus: 'queued',
      },
    });
    const run = await office.user.get<{ coalescedCount: number; wakes: object[] }>(
      `/v1/runs/${first.body.runId ?? ''}`,
    );
    expect(run.body.coalescedCount).toBe(2);
    expect(run.body.wakes).toHaveLength(2);
  });

  it('explains each step without taking any', async () => {
    const office = await anOffice(reveille());
    const before = await office.user.post<Explanation>('/v1/wakes/explain', hello(office));
    expect(before.status).toBe(200);
    expect(before.body.outcome).toBe('queued');
    expect(before.body.gates.map(({ gate, verdict }) => `${gate} ${verdict}`)).toEqual([
      'agent_status pass',
      'workspace_pause pass',
      'idempotency not_in_scope',
      'coalescing pass',
      'assignment_allowance not_in_scope',
      'insert pass',
    ]);
    expect((await office.user.get('/v1/runs')).body).toMatchObject({ items: [] });

    const queued = await office.user.post<Decision>('/v1/wakes', hello(office));
    const after = await office.user.post<Explanation>('/v1/wakes/explain', hello(office));
    expect(after.body.outcome).toBe('coalesced');
    expect(after.body.gates[3]).toMatchObject({ verdict: 'stop', detail: { runId: queued.body.runId } });
    expect(after.body.gates.slice(4).map(({ verdict }) => verdict)).toEqual(['not_reached', 'not_reached']);
  });

  it('explains a wake that would be an error', async () => {
    const office = await anOffice(reveille());
    await office.user.put(`/v1/workspaces/${office.workspaceId}/pause`, { reason: 'stop' });
    const { body } = await office.user.post<Explanation>('/v1/wakes/explain', hello(office));
    expect(body).toMatchObject({ outcome: 'none', error: 'workspace_paused' });
    expect(body.gates[1]).toMatchObject({ gate: 'workspace_pause', verdict: 'stop' });
  });

  it('decides a batch in order, each on its own merits', async () => {
    const office = await anOffice(reveille());
    const other = await anOffice(reveille());
    const keyed = { ...hello(office), reason: 'keyed', idempotencyKey: 'once' };
    const wakes = [hello(office), { nonsense: true }, keyed, keyed, hello(other), hello(office)];
    const { status, body } = await office.user.post<Batch>('/v1/wakes/batch', { wakes });
    expect(status).toBe(200);
    expect(body.decisions.map(({ decision, error }) => decision?.outcome ?? error?.code)).toEqual([
      'queued',
      'validation_failed',
      'queued',
      'deduped',
      'not_found',
      'coalesced',
    ]);
    const tooMany = { wakes: Array.from({ length: 1001 }, () => hello(office)) };
    expect((await office.user.post('/v1/wakes/batch', tooMany)).status).toBe(400);
  });

  it('takes a batch larger than a single body may be, but no larger item', async () => {
    const office = await anOffice(reveille());
    const padded = { ...hello(office), payload: { note: 'x'.repeat(40_000) } };
    const fits = await office.user.post<Batch>('/v1/wakes/batch', { wakes: [padded, padded, padded] });
    expect(fits.body.decisions.map(({ decision }) => decision?.outcome)).toEqual([
      'queued',
      'coalesced',
      'coalesced',
    ]);
    const large = { ...hello(office), payload: { note: 'x'.repeat(70_000) } };
    const item = await office.user.post<Batch>('/v1/wakes/batch', { wakes: [large, hello(office)] });
    expect(item.body.decisions.map(({ decision, error }) => decision?.outcome ?? error?.code)).toEqual([
      'payload_too_large',
      'coalesced',
    ]);
    expect(await office.user.post('/v1/wakes', large)).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    });
  });

  it('keeps every decision that made no run, equal ones as one row with a count', async () => {
    const office = await anOffice(reveille());
    for (let hop = 0; hop < ALLOWANCE_LIMIT + 3; hop++) {
      reveille().clock.advance(COALESCING_WINDOW_MS);
      await office.asAgents[0]?.patch(`/v1/tasks/${office.taskId}`, {
        assigneeAgentProfileId: office.agents[1],
      });
    }
    const { body } = await office.user.get<{ items: object[] }>(`/v1/decisions?taskId=${office.taskId}`);
    expect(body.items).toEqual([
      expect.objectContaining({
        outcome: 'rate_limited',
        gate: 'assignment_allowance',
        count: 3,
        reason: 'task_assigned',
        agentProfileId: office.agents[1],
        actorType: 'agent',
        actorId: office.agents[0],
        runId: null,
        error: null,
      }),
    ]);
    await office.user.patch(`/v1/agents/${office.agents[0] ?? ''}`, { status: 'paused' });
    const refused = await office.user.post('/v1/wakes', hello(office));
    expect(refused).toMatchObject({ status: 409, body: { code: 'agent_not_runnable' } });
    const undecided = await office.user.get<{ items: object[] }>('/v1/decisions?outcome=none');
    expect(undecided.body.items).toEqual([
      expect.objectContaining({
        outcome: 'none',
        error: 'agent_not_runnable',
        agentProfileId: office.agents[0],
      }),
    ]);
  });

  it('refuses what no id, cursor or payload may be, in the same words on both databases', async () => {
    const office = await anOffice(reveille());
    const nested = (depth: number): object => (depth === 1 ? {} : { inner: nested(depth - 1) });
    const wake = (payload: object) => office.user.post('/v1/wakes', { ...hello(office), payload });
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, key) => [`k${key}`, key]));
    const cursor = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
    const refused = [
      await wake(nested(33)),
      await wake(nested(5_000)),
      await wake(many),
      await office.user.get('/v1/tasks/%00'),
      await office.user.get(`/v1/tasks/${'x'.repeat(129)}`),
      await office.user.get(`/v1/runs?cursor=${cursor(['NaN', 'x'])}`),
      await office.user.get(`/v1/decisions?cursor=${cursor(['1e999', 'x'])}`),
      await office.user.get('/v1/runs?cursor=nonsense'),
    ];
    for (const answer of refused)
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect((await wake(nested(32))).status).toBe(201);
  });

  it('takes a request that names the type of a body and has none', async () => {
    const office = await anOffice(reveille());
    const bare = await office.admin.bare('post', `/v1/agents/${office.agents[0] ?? ''}/tokens`);
    expect(bare.status).toBe(201);
  });
});
