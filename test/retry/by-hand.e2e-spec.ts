import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { type HeldRun, OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const RETRIES = 'office_run_retries_total';

interface RunView {
  readonly id: string;
  readonly status: string;
  readonly retryOf: string | null;
  readonly payload: object;
  readonly wakes?: readonly object[];
}

interface WakeAnswer {
  readonly outcome: string;
  readonly runId: string;
}

const ILLEGAL = { status: 409, body: { code: 'illegal_transition' } };

onEachDatabase('trying a run again by hand', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const now = () => reveille().clock.now();
  const open = () => OfficeScene.open(reveille());

  const retry = ({ office }: OfficeScene, id: string, by = office.user) =>
    by.post<RunView>(`/v1/runs/${id}/retry`);

  const wake = async (scene: OfficeScene, given: object = {}) => {
    const payload = { task_id: scene.office.taskId };
    const body = { agentProfileId: scene.agent(), reason: 'hello', payload, ...given };
    return (await scene.office.user.post<WakeAnswer>('/v1/wakes', body)).body;
  };

  /** A run of the scene's agent, once its turn has ended like that. */
  async function ended(scene: OfficeScene, how: string, report: object = {}): Promise<HeldRun> {
    await wake(scene, { idempotencyKey: 'a key' });
    const held = await scene.claim();
    expect((await scene.report(held, how, report)).status).toBe(200);
    return held;
  }

  const failed = (scene: OfficeScene) => ended(scene, 'fail', { error: 'it fails', retryable: false });
  const waiting = (scene: OfficeScene) => ended(scene, 'fail', { error: 'it fails' });

  async function cancelled(scene: OfficeScene): Promise<string> {
    const { runId } = await wake(scene);
    await scene.office.user.post(`/v1/runs/${runId}/cancel`, { reason: 'no' });
    return runId;
  }

  it('AC-OFFICE-WORKER-006.7 makes a new run of one that has failed, for the same agent, task and reason, without a key', async () => {
    const scene = await open();
    const { run } = await failed(scene);
    reveille().clock.advance(60_000);
    const [before] = await scene.runs();
    const answer = await retry(scene, run.id);
    expect(answer).toMatchObject({ status: 201, body: { status: 'queued', retryOf: run.id } });
    expect(answer.body.id).not.toBe(run.id);
    const [old, made] = await scene.runs();
    expect(old).toEqual(before);
    expect(made).toMatchObject({
      id: answer.body.id,
      agentProfileId: scene.agent(),
      reason: 'hello',
      taskId: scene.office.taskId,
      payload: before?.payload,
      actorType: 'user',
      actorId: before?.actorId,
      idempotencyKey: null,
      requestedAt: now(),
      retryCount: 0,
      attempt: 0,
      scheduledRetryAt: null,
      coalescedCount: 1,
    });
    expect(await scene.office.user.get(`/v1/runs/${answer.body.id}`)).toMatchObject({
      body: { retryOf: run.id, wakes: [{ idempotencyKey: null }] },
    });
    const [, told] = await scene.events('run.queued');
    expect(told).toMatchObject({ subject: { runId: answer.body.id }, data: { retryOf: run.id } });
    expect((await scene.claim()).run.id).toBe(answer.body.id);
  });

  it('AC-OFFICE-WORKER-006.7 makes a new run of one that was cancelled', async () => {
    const scene = await open();
    const id = await cancelled(scene);
    expect(await retry(scene, id)).toMatchObject({ status: 201, body: { retryOf: id } });
  });

  it('waits with it until the worker has let go of the one that was cancelled', async () => {
    const scene = await open();
    await wake(scene);
    const held = await scene.claim();
    await scene.office.user.post(`/v1/runs/${held.run.id}/cancel`, { reason: 'no' });
    const { body } = await retry(scene, held.run.id);
    const claim = () => scene.office.worker.post('/v1/runs/claim', { workerId: 'w' });
    expect((await claim()).body).toEqual({ claims: [] });
    await scene.report(held, 'release');
    expect((await claim()).body).toMatchObject({ claims: [{ run: { id: body.id } }] });
  });

  it('is the work of who asks, so it uses up no agent’s allowance and is not bound by it', async () => {
    const scene = await open();
    for (let index = 0; index < ALLOWANCE_LIMIT; index++) {
      await scene.assign(scene.agent(1), { by: scene.asAgent() });
      reveille().clock.advance(6_000);
    }
    const first = pick(await scene.runs());
    await scene.office.user.post(`/v1/runs/${first.id}/cancel`, { reason: 'no' });
    const { status, body } = await retry(scene, first.id, scene.office.admin);
    expect(status).toBe(201);
    const made = pick((await scene.runs()).filter(({ id }) => id === body.id));
    expect(made).toMatchObject({ reason: 'task_assigned', actorType: 'user' });
    expect(JSON.parse(made.payload)).toEqual({
      ...(JSON.parse(first.payload) as object),
      actor_type: 'user',
      actor_id: made.actorId,
    });
    expect(made.actorId).not.toBe(first.actorId);
    reveille().clock.advance(10 * 60_000 - 29_000);
    const next = await scene.assign(scene.agent(1), { by: scene.asAgent() });
    expect(next.reactions).toMatchObject([
      { outcome: 'queued', allowance: { observed: ALLOWANCE_LIMIT - 1 } },
    ]);
  });

  it('keeps a payload that is no object as it is', async () => {
    const scene = await open();
    const id = await cancelled(scene);
    await scene.sql('UPDATE runs SET payload = $1, task_id = NULL WHERE id = $2', ['not JSON', id]);
    expect(await retry(scene, id)).toMatchObject({ status: 201, body: { payload: 'not JSON' } });
    expect((await scene.runs())[1]).toMatchObject({ payload: 'not JSON', taskId: null, actorType: null });
  });

  it('tells every wake again that was merged in it, and leaves their keys where they are', async () => {
    const scene = await open();
    const { taskId } = scene.office;
    const wakes = ['one', 'two', 'three'].map((note) => ({
      payload: { task_id: taskId, note },
      idempotencyKey: note,
    }));
    const ids: string[] = [];
    for (const one of wakes) ids.push((await wake(scene, one)).runId);
    const id = pick(ids);
    expect(ids).toEqual([id, id, id]);
    await scene.office.user.post(`/v1/runs/${id}/cancel`, { reason: 'no' });
    reveille().clock.advance(60_000);
    const { body } = await retry(scene, id);
    expect(body).toMatchObject({ coalescedCount: 3, payload: { note: 'three' } });
    const shown = await scene.office.user.get(`/v1/runs/${body.id}`);
    expect(shown.body).toMatchObject({
      wakes: wakes.map(({ payload }) => ({ payload, idempotencyKey: null })),
    });
    expect(await wake(scene, { idempotencyKey: 'two' })).toMatchObject({ outcome: 'deduped', runId: id });
    expect(await wake(scene, { payload: { task_id: taskId, note: 'four' } })).toMatchObject({
      outcome: 'coalesced',
      runId: body.id,
    });
    const four = await scene.office.user.get<RunView>(`/v1/runs/${body.id}`);
    expect(four.body).toMatchObject({ coalescedCount: 4 });
    expect(four.body.wakes).toHaveLength(4);
  });

  it('AC-OFFICE-WORKER-006.7 lets a run that waits be due now', async () => {
    const scene = await open();
    const { run } = await waiting(scene);
    const moves = await movedBy(reveille(), RETRIES, async () => {
      expect(await retry(scene, run.id)).toMatchObject({
        status: 200,
        body: {
          id: run.id,
          status: 'queued',
          scheduledRetryAt: new Date(now()).toISOString(),
          retryOf: null,
        },
      });
    });
    expect(moves).toEqual({ 'cause="by_hand"': 1 });
    expect((await scene.claim()).run.id).toBe(run.id);
    expect(await scene.runs()).toMatchObject([{ retryCount: 1, attempt: 2 }]);
  });

  it('AC-OFFICE-WORKER-006.7 is answered by the same new run until that has ended', async () => {
    const scene = await open();
    const id = await cancelled(scene);
    const { body } = await retry(scene, id);
    expect(await retry(scene, id)).toMatchObject({ status: 200, body: { id: body.id } });
    const held = await scene.claim();
    expect(await retry(scene, id)).toMatchObject({ status: 200, body: { id: body.id, status: 'claimed' } });
    await scene.report(held, 'fail', { error: 'it fails', retryable: false });
    const again = await retry(scene, id);
    expect(again).toMatchObject({ status: 201, body: { retryOf: id } });
    expect(again.body.id).not.toBe(body.id);
  });

  it('AC-OFFICE-WORKER-006.7 is one new run when two ask at once', async () => {
    const scene = await open();
    const id = await cancelled(scene);
    const answers = await Promise.all([1, 2, 3, 4].map(() => retry(scene, id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await scene.runs()).toHaveLength(2);
  });

  it('is refused for a run that waits for its first start, is claimed, or has finished', async () => {
    const scene = await open();
    const { runId } = await wake(scene);
    expect(await retry(scene, runId)).toMatchObject(ILLEGAL);
    const held = await scene.claim();
    expect(await retry(scene, runId)).toMatchObject(ILLEGAL);
    await scene.report(held, 'finish');
    expect(await retry(scene, runId)).toMatchObject(ILLEGAL);
    expect(await scene.runs()).toHaveLength(1);
  });

  describe.each(['failed', 'waiting'])('of a run that is %s', (how) => {
    const prepared = (scene: OfficeScene) => (how === 'failed' ? failed(scene) : waiting(scene));

    it.each(['paused', 'stopped', 'pending_approval'])('is refused while the agent is %s', async (status) => {
      const scene = await open();
      const { run } = await prepared(scene);
      await scene.setStatus(scene.agent(), status);
      const before = await scene.runs();
      expect(await retry(scene, run.id)).toMatchObject({ status: 409, body: { code: 'agent_not_runnable' } });
      expect(await scene.runs()).toEqual(before);
    });

    it('is refused while the workspace is paused, or when nobody can tell', async () => {
      const scene = await open();
      const { run } = await prepared(scene);
      await scene.pause();
      const before = await scene.runs();
      expect(await retry(scene, run.id)).toMatchObject({ status: 409, body: { code: 'workspace_paused' } });
      RecordingLogger.of(reveille());
      const unknown = await whileFailing(reveille(), SHAPES.pause, () => retry(scene, run.id));
      expect(unknown).toMatchObject({ status: 503, body: { code: 'pause_gate_unavailable' } });
      expect(await scene.runs()).toEqual(before);
    });
  });

  it('is refused once the agent is deleted', async () => {
    const scene = await open();
    const { run } = await failed(scene);
    await scene.removeAgent(scene.agent());
    expect(await retry(scene, run.id)).toMatchObject({ status: 409, body: { code: 'agent_not_runnable' } });
  });

  it('either is due now or was claimed before, and is never both', async () => {
    for (let round = 0; round < 5; round++) {
      const scene = await open();
      const { run } = await waiting(scene);
      reveille().clock.advance(3 * 60_000);
      const [hurried, claimed] = await Promise.all([
        retry(scene, run.id),
        scene.office.worker.post<{ claims: HeldRun[] }>('/v1/runs/claim', { workerId: 'w' }),
      ]);
      expect([200, 409]).toContain(hurried.status);
      const claims = claimed.body.claims.length === 0 ? [await scene.claim()] : claimed.body.claims;
      expect(claims).toMatchObject([{ run: { id: run.id, attempt: 2 } }]);
    }
  });

  it('leaves no older retry to be claimed once a newer run has finished', async () => {
    for (let round = 0; round < 5; round++) {
      const scene = await open();
      const { run } = await waiting(scene);
      await wake(scene);
      const newer = await scene.claim();
      reveille().clock.advance(3 * 60_000);
      const claim = () => scene.office.worker.post('/v1/runs/claim', { workerId: 'w' });
      const [finished, ...claims] = await Promise.all([scene.report(newer, 'finish'), claim(), claim()]);
      expect(finished.status).toBe(200);
      for (const { body } of claims) expect(body).toEqual({ claims: [] });
      expect(pick(await scene.runs())).toMatchObject({ id: run.id, cancelReason: 'superseded' });
    }
  });
});

onEachDatabase('freeing the key of a run', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille());

  const free = ({ office }: OfficeScene, id: string, by = office.user) => by.delete(`/v1/runs/${id}/key`);

  const wake = async ({ office }: OfficeScene, idempotencyKey: string) => {
    const payload = { task_id: office.taskId };
    const body = { agentProfileId: office.agents[0], reason: 'hello', payload, idempotencyKey };
    return (await office.user.post<WakeAnswer>('/v1/wakes', body)).body;
  };

  it('AC-OFFICE-WORKER-006.8 lets its wake be sent again, and leaves the run as it is otherwise', async () => {
    const scene = await open();
    const { runId } = await wake(scene, 'a key');
    await scene.report(await scene.claim(), 'finish');
    const [before] = await scene.runs();
    expect(await wake(scene, 'a key')).toMatchObject({ outcome: 'deduped', runId });
    expect((await free(scene, runId)).status).toBe(204);
    expect(await scene.runs()).toEqual([{ ...before, idempotencyKey: null }]);
    const again = await wake(scene, 'a key');
    expect(again.outcome).toBe('queued');
    expect(again.runId).not.toBe(runId);
    expect(await wake(scene, 'a key')).toMatchObject({ outcome: 'deduped', runId: again.runId });
  });

  it('does nothing the second time, nor for a run that has none', async () => {
    const scene = await open();
    const { runId } = await wake(scene, 'a key');
    await free(scene, runId);
    const before = await scene.runs();
    expect((await free(scene, runId)).status).toBe(204);
    expect(await scene.runs()).toEqual(before);
  });

  it('AC-OFFICE-WORKER-006.8 frees the keys that were merged in it as well', async () => {
    const scene = await open();
    const { runId } = await wake(scene, 'one');
    expect(await wake(scene, 'two')).toMatchObject({ outcome: 'coalesced', runId });
    await free(scene, runId);
    reveille().clock.advance(60_000);
    expect((await wake(scene, 'two')).outcome).toBe('queued');
    reveille().clock.advance(60_000);
    expect((await wake(scene, 'one')).outcome).toBe('queued');
    const shown = await scene.office.user.get<RunView>(`/v1/runs/${runId}`);
    expect(shown.body.wakes).toMatchObject([{ idempotencyKey: null }, { idempotencyKey: null }]);
  });

  it('lets a wake with that key come before it or after it, and nothing in between', async () => {
    for (let round = 0; round < 5; round++) {
      const scene = await open();
      const { runId } = await wake(scene, 'a key');
      await scene.report(await scene.claim(), 'finish');
      const [freed, ...woken] = await Promise.all([
        free(scene, runId),
        ...[1, 2, 3].map(() => wake(scene, 'a key')),
      ]);
      expect(freed.status).toBe(204);
      const queued = woken.filter(({ outcome }) => outcome === 'queued');
      expect(queued.length).toBeLessThanOrEqual(1);
      const known = [runId, ...queued.map((answer) => answer.runId)];
      for (const answer of woken) expect(known).toContain(answer.runId);
      expect(await scene.runs()).toHaveLength(1 + queued.length);
    }
  });
});

onEachDatabase('who may try runs again and free their keys', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  const ROUTES = {
    retry: (office: OfficeScene['office'], id: string) => office.user.post(`/v1/runs/${id}/retry`),
    'freeing a key': (office: OfficeScene['office'], id: string) => office.user.delete(`/v1/runs/${id}/key`),
  };

  it.each(Object.entries(ROUTES))('%s: persons and administrators, in what they see', async (_what, call) => {
    const scene = await OfficeScene.open(reveille());
    const { office } = scene;
    const body = { agentProfileId: scene.agent(), reason: 'hello', payload: {} };
    const { runId } = (await office.user.post<WakeAnswer>('/v1/wakes', body)).body;
    await office.user.post(`/v1/runs/${runId}/cancel`, { reason: 'no' });
    const as = (user: OfficeScene['office']['user']) => call({ ...office, user }, runId);
    for (const other of [office.worker, scene.asAgent(), scene.asAgent(1)])
      expect(await as(other)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const theirs = await OfficeScene.open(reveille());
    expect(await as(theirs.office.user)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await call(office, 'nowhere')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect((await as(office.user)).status).toBeLessThan(300);
    expect((await as(office.admin)).status).toBeLessThan(300);
  });
});
