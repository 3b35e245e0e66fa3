import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { OfficeScene } from '../support/office-scene.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const HOUR_MS = 60 * 60_000;
const RETRIES_READ = /"scheduled_retry_at" IS NOT NULL/;

onEachDatabase('an agent that takes no more part in a task', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  describe('because a role was taken from it', () => {
    /** An office whose first agent has the roles, and a conversation about the task. */
    const seated = async (...roles: string[]) => {
      const scene = await OfficeScene.open(reveille());
      const { user, taskId } = scene.office;
      const participant = `/v1/tasks/${taskId}/participants/${scene.agent()}`;
      const give = (role: string) => user.put(participant, { role });
      for (const role of roles) await give(role);
      await scene.change({ state: 'REVIEW' });
      await scene.report(await scene.claim(), 'session', { executionProfileId: 'default' });
      const take = (role?: string) =>
        user.delete(role === undefined ? participant : `${participant}?role=${role}`);
      return { scene, give, take };
    };
    const stateIn = async (scene: OfficeScene) => (await scene.sessions()).map(({ state }) => state);

    it.each(['reviewer', 'approver'])('ends its conversation: %s', async (role) => {
      const { scene, take } = await seated(role);
      expect(await take(role)).toMatchObject({ status: 204 });
      expect(await stateIn(scene)).toEqual(['COMPLETED']);
      expect(await scene.events('session.state_changed')).toMatchObject([
        { data: { to: 'RUNNING' } },
        { subject: { agentProfileId: scene.agent() }, data: { from: 'RUNNING', to: 'COMPLETED' } },
      ]);
      expect(await take(role)).toMatchObject({ status: 204 });
      expect(await scene.events('session.state_changed')).toHaveLength(2);
    });

    it('keeps its conversation while it has another seat, and ends it with the last', async () => {
      const { scene, take } = await seated('reviewer', 'approver');
      await take('reviewer');
      expect(await stateIn(scene)).toEqual(['RUNNING']);
      await take('approver');
      expect(await stateIn(scene)).toEqual(['COMPLETED']);
    });

    it('keeps its conversation as the assignee', async () => {
      const { scene, take } = await seated('reviewer');
      await scene.assign(scene.agent());
      await take();
      expect(await stateIn(scene)).toEqual(['RUNNING']);
    });

    it('ends its conversation when it only watches from then on', async () => {
      const { scene, take } = await seated('reviewer', 'watcher');
      await take('reviewer');
      expect(await stateIn(scene)).toEqual(['COMPLETED']);
    });

    it('ends its conversation when all roles are taken at once', async () => {
      const { scene, take } = await seated('reviewer', 'approver', 'watcher');
      await take();
      expect(await stateIn(scene)).toEqual(['COMPLETED']);
    });

    it('does not notice that another gets or loses one', async () => {
      const { scene, give } = await seated('reviewer');
      const { user, taskId } = scene.office;
      const other = `/v1/tasks/${taskId}/participants/${scene.agent(1)}`;
      await user.put(other, { role: 'reviewer' });
      await give('approver');
      await user.delete(other);
      expect(await stateIn(scene)).toEqual(['RUNNING']);
    });
  });

  describe('because the task was given to another', () => {
    /** An office whose first agent waits to try again, about the task. */
    const retrying = async () => {
      const scene = await OfficeScene.open(reveille());
      const { user, taskId } = scene.office;
      const participant = `/v1/tasks/${taskId}/participants/${scene.agent(1)}`;
      await user.put(participant, { role: 'reviewer' });
      await scene.assign(scene.agent());
      await scene.change({ state: 'REVIEW' });
      const later = reveille().clock.now() + HOUR_MS;
      await scene.sql('UPDATE runs SET scheduled_retry_at = $1 WHERE task_id = $2', [later, taskId]);
      return scene;
    };
    const retries = async (scene: OfficeScene) =>
      new Map(
        (await scene.runs())
          .filter(({ scheduledRetryAt }) => scheduledRetryAt !== null)
          .map(({ agentProfileId, status, cancelReason }) => [agentProfileId, [status, cancelReason]]),
      );

    it.each(['another', 'nobody'])('tries nothing again: %s', async (whom) => {
      const scene = await retrying();
      await scene.assign(whom === 'nobody' ? null : scene.agent(1));
      expect(await retries(scene)).toEqual(
        new Map([
          [scene.agent(), ['cancelled', 'task_assignee_changed']],
          [scene.agent(1), ['queued', null]],
        ]),
      );
      expect(await scene.events('run.cancelled')).toMatchObject([
        { subject: { agentProfileId: scene.agent() }, data: { reason: 'task_assignee_changed' } },
      ]);
    });

    it('does try again when it is given the same task once more', async () => {
      const scene = await retrying();
      await scene.assign(scene.agent());
      expect((await retries(scene)).get(scene.agent())).toEqual(['queued', null]);
      expect(await scene.events('run.cancelled')).toEqual([]);
    });

    it('does try again what is about another task', async () => {
      const scene = await retrying();
      const { id } = await scene.create({ kind: 'kanban', assigneeAgentProfileId: scene.agent() });
      await scene.assign(scene.agent(1), { taskId: id });
      expect((await retries(scene)).get(scene.agent())).toEqual(['queued', null]);
    });

    it('loses the task all the same when its retries cannot be cancelled, which is logged', async () => {
      const scene = await retrying();
      const logger = RecordingLogger.of(reveille());
      const assign = () => scene.assign(scene.agent(1));
      const failing = () => whileFailing(reveille(), RETRIES_READ, assign);
      expect(await logger.during(failing, 'Handover')).toMatchObject([{ level: 'warn' }]);
      expect(await scene.task()).toMatchObject({ assigneeAgentProfileId: scene.agent(1) });
      expect((await retries(scene)).get(scene.agent())).toEqual(['queued', null]);
      reveille().clock.advance(HOUR_MS);
      await scene.office.worker.post('/v1/runs/claim', { workerId: 'worker', max: 10 });
      expect((await retries(scene)).get(scene.agent())).toEqual(['cancelled', 'task_assignee_changed']);
    });
  });
});
