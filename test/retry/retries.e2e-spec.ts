import { LeaseClock } from '../../src/database/lease-clock.js';
import { Randomness } from '../../src/random/randomness.js';
import { WORKER_LOST_LIMIT } from '../../src/runs/claim.js';
import { RESET_GRACE_MS, RETRY_DELAYS_MS, TOO_OLD_MS } from '../../src/runs/retry-policy.js';
import type { Run } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { type HeldRun, OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { spendRetries } from '../support/retries.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const [FIRST_DELAY_MS] = RETRY_DELAYS_MS;

onEachDatabase('a run that fails', (database) => {
  const reveille = useReveille(() =>
    TestReveille.serve(database, {}, (builder) =>
      builder.overrideProvider(LeaseClock).useFactory({
        factory: () => ({ now: () => Promise.resolve(reveille().clock.now()) }),
      }),
    ),
  );

  let chance = 0;
  beforeEach(() => {
    chance = 0;
    jest.spyOn(reveille().get(Randomness), 'fraction').mockImplementation(() => chance);
  });
  afterEach(() => jest.restoreAllMocks());

  const now = () => reveille().clock.now();

  async function assigned(): Promise<OfficeScene> {
    const scene = await OfficeScene.open(reveille());
    await scene.assign(scene.agent());
    return scene;
  }

  const fail = (scene: OfficeScene, held: HeldRun, failure: object = {}) =>
    scene.report<{ status: string }>(held, 'fail', { error: 'it fails', ...failure });

  const stored = async (scene: OfficeScene, { run }: Pick<HeldRun, 'run'>): Promise<Run> =>
    pick((await scene.runs()).filter(({ id }) => id === run.id));

  /** A run of the scene's task that has failed once and waits. */
  async function waiting(): Promise<{ scene: OfficeScene; held: HeldRun }> {
    const scene = await assigned();
    const held = await scene.claim();
    await fail(scene, held);
    return { scene, held };
  }

  it('AC-OFFICE-WORKER-006.2 U-210 U-211 is queued again as it was, counted up from what is stored, with what it complained about', async () => {
    const scene = await assigned();
    const other = await scene.create({ assigneeAgentProfileId: scene.agent(1) });
    const [before] = await scene.runs(scene.office.taskId);
    await scene.sql('UPDATE runs SET retry_count = 3 WHERE id = $1', [before?.id]);
    const { body } = await scene.office.worker.post<{ claims: HeldRun[] }>('/v1/runs/claim', {
      workerId: 'w',
      agentProfileIds: [scene.agent()],
    });
    const held = pick(body.claims);
    await scene.report(held, 'session', { executionProfileId: 'default' });
    const untouched = await scene.runs(other.id);
    reveille().clock.advance(1234);
    const answer = await fail(scene, held);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        status: 'queued',
        retryCount: 4,
        scheduledRetryAt: new Date(now() + RETRY_DELAYS_MS[3]).toISOString(),
        errorMessage: 'it fails',
      },
    });
    expect(await stored(scene, held)).toEqual({
      ...before,
      retryCount: 4,
      attempt: 1,
      scheduledRetryAt: now() + RETRY_DELAYS_MS[3],
      workerId: 'w',
      errorMessage: 'it fails',
      executionProfileId: 'default',
    });
    expect(await scene.runs(other.id)).toEqual(untouched);
    expect(await fail(scene, held)).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
    expect((await scene.office.admin.as(held.agentToken).get('/v1/me')).status).toBe(401);
  });

  it('AC-OFFICE-WORKER-006.1 U-220 is tried four times more, each when its time has come, and has failed then', async () => {
    const scene = await assigned();
    const attempts: number[] = [];
    for (const [index, delay] of RETRY_DELAYS_MS.entries()) {
      chance = index % 2 === 0 ? 0 : 0.5;
      const held = await scene.claim();
      await fail(scene, held);
      const { scheduledRetryAt, retryCount, attempt } = await stored(scene, held);
      attempts.push(attempt);
      expect(retryCount).toBe(index + 1);
      expect(scheduledRetryAt).toBe(now() + delay * (1 + 0.25 * chance));
      reveille().clock.set((scheduledRetryAt ?? 0) - 1);
      const early = await scene.office.worker.post('/v1/runs/claim', { workerId: 'w' });
      expect(early.body).toEqual({ claims: [] });
      reveille().clock.advance(1);
    }
    const last = await scene.claim();
    expect(await fail(scene, last)).toMatchObject({ body: { status: 'failed' } });
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(await scene.runs()).toMatchObject([
      { status: 'failed', retryCount: 4, attempt: 5, finishedAt: now(), isConclusive: null },
    ]);
    const scheduled = await scene.events('run.retry_scheduled');
    expect(scheduled).toMatchObject(
      RETRY_DELAYS_MS.map(() => ({ subject: { runId: last.run.id }, data: { cause: 'backoff' } })),
    );
    expect(await scene.events('run.failed')).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-006.3 waits for the instant that its provider names, which is told and counted so', async () => {
    const scene = await assigned();
    const held = await scene.claim();
    const error = 'Rate limit reached. Please try again in 20s.';
    const moves = await movedBy(reveille(), 'office_run_retries_total', () => fail(scene, held, { error }));
    expect(moves).toEqual({ 'cause="provider_reset"': 1 });
    expect(await stored(scene, held)).toMatchObject({
      errorMessage: error,
      scheduledRetryAt: now() + 20_000 + RESET_GRACE_MS,
    });
  });

  it('AC-OFFICE-WORKER-006.4 has failed at once when its worker calls trying again useless', async () => {
    const scene = await assigned();
    const held = await scene.claim();
    const moves = await movedBy(reveille(), 'office_run_retries_total', () =>
      fail(scene, held, { retryable: false, error: 'try again in 20s' }),
    );
    expect(moves).toEqual({});
    expect(await stored(scene, held)).toMatchObject({ status: 'failed', retryCount: 0, isConclusive: true });
  });

  it('AC-OFFICE-WORKER-006.2 is its key’s still, so a redelivery is answered by it, and it is no redelivery of itself', async () => {
    const { scene, held } = await waiting();
    const { idempotencyKey } = await stored(scene, held);
    const wake = { agentProfileId: scene.agent(), reason: 'task_assigned', payload: {}, idempotencyKey };
    const again = await scene.office.admin.post('/v1/wakes', wake);
    expect(again.body).toMatchObject({ outcome: 'deduped', runId: held.run.id, runStatus: 'queued' });
    reveille().clock.advance(FIRST_DELAY_MS);
    expect((await scene.claim()).run.id).toBe(held.run.id);
  });

  it('holds up no other run, and takes no new wake in that would wait with it', async () => {
    const { scene, held } = await waiting();
    const wake = {
      agentProfileId: scene.agent(),
      reason: 'task_assigned',
      payload: { task_id: scene.office.taskId },
    };
    const { body } = await scene.office.user.post<{ outcome: string; runId: string }>('/v1/wakes', wake);
    expect(body.outcome).toBe('queued');
    expect(body.runId).not.toBe(held.run.id);
    expect((await scene.claim()).run.id).toBe(body.runId);
  });

  it('AC-OFFICE-WORKER-006.2 U-106 has used up its share of the allowance once, whatever becomes of it', async () => {
    const scene = await OfficeScene.open(reveille());
    await scene.assign(scene.agent(1), { by: scene.asAgent() });
    const at = now();
    const count = () =>
      reveille()
        .get(RunsRepository)
        .agentAssignments(scene.office.workspaceId, scene.office.taskId, { start: at - 1, end: now() });
    expect(await count()).toEqual([at]);
    await fail(scene, await scene.claim());
    reveille().clock.advance(FIRST_DELAY_MS);
    await scene.claim();
    await scene.sweep(31_000);
    expect(await scene.runs()).toMatchObject([
      { status: 'queued', attempt: 2, retryCount: 1, requestedAt: at },
    ]);
    expect(await count()).toEqual([at]);
  });

  it('AC-OFFICE-WORKER-005.2 is given up when its worker was lost five times, failures of its own not counted', async () => {
    const { scene, held } = await waiting();
    reveille().clock.advance(FIRST_DELAY_MS);
    for (let lost = 1; lost <= WORKER_LOST_LIMIT; lost++) {
      expect(await stored(scene, held)).toMatchObject({ status: 'queued', attempt: lost });
      await scene.claim();
      await scene.sweep(31_000);
    }
    expect(await stored(scene, held)).toMatchObject({ status: 'failed', errorMessage: 'worker_lost' });
  });

  describe('U-221 that was requested too long ago', () => {
    const failAfter = async (milliseconds: number, scene: OfficeScene) => {
      reveille().clock.advance(milliseconds);
      const held = await scene.claim();
      await fail(scene, held);
      return stored(scene, held);
    };

    it('AC-OFFICE-WORKER-006.5 is cancelled', async () => {
      const scene = await assigned();
      const run = await failAfter(TOO_OLD_MS + 1, scene);
      expect(run).toMatchObject({ status: 'cancelled', cancelReason: 'run_too_old', finishedAt: now() });
      expect(run).toMatchObject({ errorMessage: 'it fails', retryCount: 0, isConclusive: null });
      expect(await scene.events('run.cancelled')).toMatchObject([{ data: { reason: 'run_too_old' } }]);
    });

    it('AC-OFFICE-WORKER-006.5 is tried again a day after, but not later', async () => {
      expect(await failAfter(TOO_OLD_MS, await assigned())).toMatchObject({ status: 'queued' });
    });

    it('AC-OFFICE-WORKER-006.5 is no older by the time for which its workspace was paused', async () => {
      const scene = await assigned();
      reveille().clock.advance(HOUR_MS);
      for (const pauseMs of [20 * HOUR_MS, 3 * HOUR_MS]) {
        await scene.pause();
        reveille().clock.advance(pauseMs);
        await scene.resume();
      }
      expect(await failAfter(TOO_OLD_MS - HOUR_MS, scene)).toMatchObject({ status: 'queued' });
      expect(await failAfter(FIRST_DELAY_MS, scene)).toMatchObject({ cancelReason: 'run_too_old' });
    });

    it('is older by a pause that was over before, and by that of another workspace', async () => {
      const [scene, other] = [await OfficeScene.open(reveille()), await OfficeScene.open(reveille())];
      await scene.pause();
      reveille().clock.advance(HOUR_MS);
      await scene.resume();
      await other.pause();
      await scene.assign(scene.agent());
      expect(await failAfter(TOO_OLD_MS + 1, scene)).toMatchObject({ cancelReason: 'run_too_old' });
    });

    it('AC-OFFICE-WORKER-006.5 is not asked when it would not be tried again', async () => {
      const scene = await assigned();
      reveille().clock.advance(TOO_OLD_MS + 1);
      const held = await scene.claim();
      await spendRetries(reveille(), held.run.id);
      await fail(scene, held);
      expect(await stored(scene, held)).toMatchObject({ status: 'failed' });
    });

    it('AC-OFFICE-WORKER-006.5 is not cancelled while its worker is only lost', async () => {
      const scene = await assigned();
      reveille().clock.advance(TOO_OLD_MS + 1);
      await scene.claim();
      await scene.sweep(31_000);
      expect(await scene.runs()).toMatchObject([{ status: 'queued' }]);
    });
  });

  describe('and waits', () => {
    it('AC-OFFICE-WORKER-006.6 is cancelled when a newer one of the same agent, task and reason has finished', async () => {
      const { scene, held } = await waiting();
      await scene.assign(scene.agent());
      const newer = await scene.claim();
      await scene.report(newer, 'finish');
      expect(await stored(scene, held)).toMatchObject({ status: 'cancelled', cancelReason: 'superseded' });
      expect(await stored(scene, newer)).toMatchObject({ status: 'finished' });
      expect(await scene.events('run.cancelled')).toMatchObject([
        { subject: { runId: held.run.id }, data: { reason: 'superseded' } },
      ]);
    });

    it.each(['reason', 'agent_profile_id', 'task_id'])(
      'AC-OFFICE-WORKER-006.6 goes on waiting when a newer one with another %s has finished',
      async (column) => {
        const { scene, held } = await waiting();
        await scene.assign(scene.agent());
        const newer = await scene.claim();
        await scene.sql(`UPDATE runs SET ${column} = 'another' WHERE id = $1`, [newer.run.id]);
        expect(await scene.report(newer, 'finish')).toMatchObject({ status: 200 });
        expect(await stored(scene, held)).toMatchObject({ status: 'queued' });
      },
    );

    it.each(['', null])('goes on waiting when both are about no task (%j)', async (taskId) => {
      const { scene, held } = await waiting();
      await scene.assign(scene.agent());
      const newer = await scene.claim();
      await scene.sql('UPDATE runs SET task_id = $1 WHERE workspace_id = $2', [
        taskId,
        scene.office.workspaceId,
      ]);
      await scene.report(newer, 'finish');
      expect(await stored(scene, held)).toMatchObject({ status: 'queued' });
    });

    it('AC-OFFICE-WORKER-006.6 goes on waiting when a newer one has failed, or an older one has finished', async () => {
      const { scene, held } = await waiting();
      await scene.assign(scene.agent());
      const newer = await scene.claim();
      await fail(scene, newer);
      expect(await stored(scene, held)).toMatchObject({ status: 'queued' });
      reveille().clock.advance(FIRST_DELAY_MS);
      const older = await scene.claim();
      expect(older.run.id).toBe(held.run.id);
      await scene.report(older, 'finish');
      expect(await stored(scene, newer)).toMatchObject({ status: 'queued' });
    });

    it('goes on waiting for a comment, which no other comment stands for', async () => {
      const scene = await OfficeScene.open(reveille());
      await scene.create({ id: 'commented', kind: 'kanban', assigneeAgentProfileId: scene.agent() });
      const write = () => scene.office.user.post('/v1/tasks/commented/comments', { body: 'Text' });
      await write();
      const first = await scene.claim();
      await fail(scene, first);
      await write();
      await scene.report(await scene.claim(), 'finish');
      expect(await stored(scene, first)).toMatchObject({ status: 'queued', reason: 'task_comment' });
    });

    it('AC-OFFICE-WORKER-006.6 is cancelled when its task is given to another', async () => {
      const { scene, held } = await waiting();
      await scene.assign(scene.agent(1));
      expect(await stored(scene, held)).toMatchObject({ cancelReason: 'task_assignee_changed' });
    });

    it.each(['COMPLETED', 'CANCELLED'])(
      'AC-OFFICE-WORKER-006.6 is cancelled when its task is %s',
      async (state) => {
        const { scene, held } = await waiting();
        await scene.change({ state });
        expect(await stored(scene, held)).toMatchObject({ status: 'cancelled', cancelReason: 'task_closed' });
      },
    );

    it('goes on waiting when its task is closed and its reason does not speak to the assignee', async () => {
      const scene = await OfficeScene.open(reveille());
      const payload = { task_id: scene.office.taskId };
      const wake = { agentProfileId: scene.agent(), reason: 'hello', payload };
      await scene.office.user.post('/v1/wakes', wake);
      const held = await scene.claim();
      await fail(scene, held);
      await scene.change({ state: 'COMPLETED' });
      expect(await stored(scene, held)).toMatchObject({ status: 'queued' });
    });
  });

  it.each([
    ['given to another', 'task_assignee_changed'],
    ['closed', 'task_closed'],
  ])('does not wait when its task was %s during the turn', async (_what, cancelReason) => {
    const scene = await assigned();
    const held = await scene.claim();
    if (cancelReason === 'task_closed') await scene.change({ state: 'COMPLETED' });
    else await scene.assign(null);
    await fail(scene, held);
    expect(await stored(scene, held)).toMatchObject({ status: 'cancelled', cancelReason });
  });

  it('is either cancelled or tried again, and never both, when it is cancelled as it fails', async () => {
    for (let round = 0; round < 5; round++) {
      const scene = await assigned();
      const held = await scene.claim();
      const [failed, cancelled] = await Promise.all([
        fail(scene, held),
        scene.office.user.post(`/v1/runs/${held.run.id}/cancel`, { reason: 'no more' }),
      ]);
      // A run that waits can be cancelled as well, so the cancellation always comes through.
      expect(cancelled.status).toBe(200);
      expect([200, 409]).toContain(failed.status);
      expect(await stored(scene, held)).toMatchObject({
        status: 'cancelled',
        cancelReason: 'no more',
        claimTokenHash: null,
        retryCount: failed.status === 200 ? 1 : 0,
      });
    }
  });

  it('either has failed or is taken back, and never both, when its lease ends as it fails', async () => {
    for (let round = 0; round < 5; round++) {
      const scene = await assigned();
      const held = await scene.claim();
      reveille().clock.advance(31_000);
      const [failed] = await Promise.all([fail(scene, held), scene.sweep()]);
      const isTaken = failed.status === 200;
      if (!isTaken) expect(failed).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
      expect(await stored(scene, held)).toMatchObject({
        status: 'queued',
        attempt: 1,
        claimTokenHash: null,
        retryCount: isTaken ? 1 : 0,
        errorMessage: isTaken ? 'it fails' : null,
      });
    }
  });
});
