import { LeaseClock } from '../../src/database/lease-clock.js';
import { WORKER_LOST_LIMIT } from '../../src/runs/claim.js';
import { TOO_OLD_MS } from '../../src/runs/retry-policy.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { DRIVING, SHAPES, whileFailing } from '../support/failing-statement.js';
import { type HeldRun, OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { spendRetries } from '../support/retries.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const LOST_MS = 31_000;
const NOTE = /^INSERT INTO "wake_notes"/;
const FINAL = { error: 'it fails', retryable: false };

onEachDatabase('a run that nobody will try again', (database) => {
  const reveille = useReveille(() =>
    TestReveille.serve(database, {}, (builder) =>
      builder.overrideProvider(LeaseClock).useFactory({
        factory: () => ({ now: () => Promise.resolve(reveille().clock.now()) }),
      }),
    ),
  );

  /** An office whose agents are coordinators but for the first, each made after the one before. */
  async function open(agentCount = 2): Promise<OfficeScene> {
    const scene = await OfficeScene.open(reveille(), agentCount);
    for (const [index, agent] of scene.office.agents.entries()) {
      await scene.office.admin.patch(`/v1/agents/${agent}`, { role: index === 0 ? 'worker' : 'ceo' });
      await scene.sql('UPDATE agents SET created_at = $1 WHERE id = $2', [index, agent]);
    }
    return scene;
  }

  async function assigned(scene: OfficeScene): Promise<HeldRun> {
    await scene.assign(scene.agent());
    return scene.claim();
  }

  const escalations = async (scene: OfficeScene) =>
    (await scene.runs()).filter(({ reason }) => reason === 'agent_error');

  async function expectUnheard(scene: OfficeScene, reason: string): Promise<void> {
    expect(await scene.events('run.failure_unheard')).toMatchObject([
      { data: { reason, error: 'it fails' } },
    ]);
    expect(await scene.notes()).toEqual([]);
  }

  it('AC-OFFICE-WORKER-006.4 U-157 wakes the coordinator, who is told which run, whose, about what, and why it failed', async () => {
    const scene = await open();
    const held = await assigned(scene);
    expect(await scene.report(held, 'fail', FINAL)).toMatchObject({
      status: 200,
      body: { status: 'failed' },
    });
    const [run, ...others] = await escalations(scene);
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      agentProfileId: scene.agent(1),
      status: 'queued',
      taskId: scene.office.taskId,
      actorType: null,
      actorId: null,
      idempotencyKey: `agent_error:${held.run.id}:${scene.agent(1)}`,
    });
    expect(JSON.parse(run?.payload ?? '')).toEqual({
      reason: 'agent_error',
      task_id: scene.office.taskId,
      workspace_id: scene.office.workspaceId,
      failed_run_id: held.run.id,
      failed_agent_profile_id: scene.agent(),
      error: 'it fails',
    });
    expect(await scene.notes()).toEqual([]);
    expect(await scene.events('run.failure_unheard')).toEqual([]);
  });

  it('AC-OFFICE-WORKER-006.4 U-157 is one wake for each of two runs', async () => {
    const scene = await open();
    const first = await assigned(scene);
    await scene.report(first, 'fail', FINAL);
    const other = await scene.create({ assigneeAgentProfileId: scene.agent() });
    const { body } = await scene.office.worker.post<{ claims: HeldRun[] }>('/v1/runs/claim', {
      workerId: 'w',
      agentProfileIds: [scene.agent()],
    });
    const second = pick(body.claims);
    await scene.report(second, 'fail', FINAL);
    expect(await escalations(scene)).toMatchObject([
      { status: 'queued', idempotencyKey: `agent_error:${first.run.id}:${scene.agent(1)}` },
      {
        status: 'queued',
        idempotencyKey: `agent_error:${second.run.id}:${scene.agent(1)}`,
        taskId: other.id,
      },
    ]);
  });

  it('AC-OFFICE-WORKER-006.4 U-220 wakes the coordinator when it is out of retries, and not before', async () => {
    const scene = await open();
    const held = await assigned(scene);
    await scene.report(held, 'fail', { error: 'it fails' });
    expect(await escalations(scene)).toEqual([]);
    reveille().clock.advance(3 * 60_000);
    const again = await scene.claim();
    await spendRetries(reveille(), again.run.id);
    await scene.report(again, 'fail', { error: 'it fails' });
    expect(await escalations(scene)).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-006.4 wakes the coordinator when its worker was lost too often', async () => {
    const scene = await open();
    await scene.assign(scene.agent());
    for (let lost = 0; lost < WORKER_LOST_LIMIT; lost++) {
      expect(await escalations(scene)).toEqual([]);
      await scene.claim();
      await scene.sweep(LOST_MS);
    }
    const [run] = await escalations(scene);
    expect(JSON.parse(run?.payload ?? '')).toMatchObject({ error: 'worker_lost' });
  });

  it('wakes nobody when it was cancelled, if for its age', async () => {
    const scene = await open();
    await scene.assign(scene.agent());
    reveille().clock.advance(TOO_OLD_MS + 1);
    await scene.report(await scene.claim(), 'fail', { error: 'it fails' });
    await scene.assign(scene.agent());
    const held = await scene.claim();
    await scene.office.user.post(`/v1/runs/${held.run.id}/cancel`, { reason: 'no' });
    await scene.report(held, 'fail', FINAL);
    expect(await escalations(scene)).toEqual([]);
    expect(await scene.events('run.failure_unheard')).toEqual([]);
  });

  it('about no task wakes the coordinator about none', async () => {
    const scene = await open();
    await scene.office.user.post('/v1/wakes', {
      agentProfileId: scene.agent(),
      reason: 'hello',
      payload: {},
    });
    await scene.report(await scene.claim(), 'fail', FINAL);
    expect(await escalations(scene)).toMatchObject([{ agentProfileId: scene.agent(1), taskId: '' }]);
  });

  it('uses up nothing of its task’s allowance by the wake', async () => {
    const scene = await open();
    const window = { start: reveille().clock.now() - 1, end: reveille().clock.now() };
    await scene.assign(scene.agent(), { by: scene.asAgent(1) });
    await scene.report(await scene.claim(), 'fail', FINAL);
    const { workspaceId, taskId } = scene.office;
    expect(await escalations(scene)).toHaveLength(1);
    expect(await reveille().get(RunsRepository).agentAssignments(workspaceId, taskId, window)).toHaveLength(
      1,
    );
  });

  describe('wakes the oldest coordinator', () => {
    const wokenIn = async (scene: OfficeScene) => {
      await scene.report(await assigned(scene), 'fail', FINAL);
      return (await escalations(scene)).map(({ agentProfileId }) => agentProfileId);
    };

    it('of several', async () => {
      const scene = await open(4);
      expect(await wokenIn(scene)).toEqual([scene.agent(1)]);
    });

    it('that may be woken', async () => {
      const scene = await open(5);
      await scene.setStatus(scene.agent(1), 'paused');
      await scene.removeAgent(scene.agent(2));
      expect(await wokenIn(scene)).toEqual([scene.agent(3)]);
    });
  });

  describe('wakes nobody, and is told of by an event', () => {
    it('where there is no coordinator, if elsewhere', async () => {
      await open();
      const scene = await OfficeScene.open(reveille());
      await scene.report(await assigned(scene), 'fail', FINAL);
      expect(await escalations(scene)).toEqual([]);
      await expectUnheard(scene, 'no_coordinator');
    });

    it('when it was the coordinator’s own', async () => {
      const scene = await open(3);
      await scene.assign(scene.agent(1));
      await scene.report(await scene.claim(), 'fail', FINAL);
      expect(await escalations(scene)).toEqual([]);
      await expectUnheard(scene, 'coordinator_failed');
    });

    it('when it was about a failure, though its agent is the coordinator no longer', async () => {
      const scene = await open(3);
      await scene.report(await assigned(scene), 'fail', FINAL);
      const told = await scene.claim();
      await scene.setStatus(scene.agent(1), 'paused');
      await scene.report(told, 'fail', FINAL);
      expect(await escalations(scene)).toHaveLength(1);
      await expectUnheard(scene, 'agent_error_failed');
    });
  });

  describe('wakes the coordinator', () => {
    it('after the pause in which it failed, once', async () => {
      const scene = await open();
      const held = await assigned(scene);
      await scene.pause();
      expect(await scene.report(held, 'fail', FINAL)).toMatchObject({ status: 200 });
      await scene.sweep(LOST_MS);
      expect(await escalations(scene)).toEqual([]);
      await scene.resume();
      await scene.sweep();
      await scene.sweep(LOST_MS);
      expect(await escalations(scene)).toHaveLength(1);
      expect(await scene.notes()).toEqual([]);
    });

    it('at the next sweep when the wake cannot be decided, and has failed all the same', async () => {
      const scene = await open();
      const held = await assigned(scene);
      RecordingLogger.of(reveille());
      const failed = await whileFailing(reveille(), SHAPES.insert, () => scene.report(held, 'fail', FINAL));
      expect(failed).toMatchObject({ status: 200, body: { status: 'failed' } });
      expect(await escalations(scene)).toEqual([]);
      await scene.sweep();
      await scene.sweep();
      expect(await escalations(scene)).toHaveLength(1);
    });

    it('once the note’s lease has ended when whoever drove it is gone', async () => {
      const scene = await open();
      const held = await assigned(scene);
      RecordingLogger.of(reveille());
      await whileFailing(reveille(), DRIVING, () => scene.report(held, 'fail', FINAL));
      await scene.sweep();
      expect(await escalations(scene)).toEqual([]);
      await scene.sweep(LOST_MS);
      expect(await escalations(scene)).toHaveLength(1);
      expect(await scene.notes()).toEqual([]);
    });
  });

  it('has not failed when what is owed for it cannot be written down', async () => {
    const scene = await open();
    const held = await assigned(scene);
    RecordingLogger.of(reveille());
    const failed = await whileFailing(reveille(), NOTE, () => scene.report(held, 'fail', FINAL));
    expect(failed).toMatchObject({ status: 500 });
    expect(await scene.runs()).toMatchObject([{ status: 'claimed' }]);
    expect(await scene.report(held, 'fail', FINAL)).toMatchObject({ status: 200 });
    expect(await escalations(scene)).toHaveLength(1);
  });

  it('leaves its task to be started anew when somebody puts it back, though the coordinator has heard', async () => {
    const scene = await open();
    const held = await assigned(scene);
    await spendRetries(reveille(), held.run.id);
    await scene.report(held, 'fail', { error: 'it fails' });
    await scene.report(await scene.claim(), 'finish');
    await scene.change({ state: 'TODO' });
    await scene.sweep(2 * 60_000);
    expect(await scene.runs()).toMatchObject([
      { status: 'failed' },
      { status: 'finished', reason: 'agent_error' },
      { status: 'queued', reason: 'task_assigned', agentProfileId: scene.agent() },
    ]);
  });
});
