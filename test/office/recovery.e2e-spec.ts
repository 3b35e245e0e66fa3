import {
  RECOVERIES_PER_TICK,
  RECOVERY_LOOK_BACK_MS,
  UNTOUCHED_MS,
} from '../../src/office/recovery/recovery-limits.js';
import { RecoveriesRepository } from '../../src/office/recovery/recoveries.repository.js';
import { TASK_STATES } from '../../src/tasks/task.schema.js';
import { afterAllHaveLooked, meetingAt } from '../support/contention.js';
import { onEachDatabase } from '../support/databases.js';
import { DRIVING, SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { OfficeScene } from '../support/office-scene.js';
import { postgresUrl } from '../support/outsider.js';
import { RecordingLogger } from '../support/recording-logger.js';
import {
  type Forgotten,
  countOf,
  end,
  forgotten,
  onANewDay,
  recover,
  waiting,
} from '../support/recoveries.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const KEYLESS = 'office_run_dedup_keyless_total';
const TASK_LOCK = /FROM "tasks" .*FOR UPDATE/s;

onEachDatabase('the sweep for tasks that nothing has started', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  it('wakes the assignee once, with nothing but the task in the payload and no key', async () => {
    const lost = await forgotten(reveille());
    await recover(reveille());
    await recover(reveille());
    const runs = await lost.scene.runs();
    expect(runs).toMatchObject([
      {
        agentProfileId: lost.scene.agent(),
        reason: 'task_assigned',
        idempotencyKey: null,
        actorType: null,
        coalescedCount: 1,
      },
    ]);
    expect(runs[0]?.payload).toBe(JSON.stringify({ task_id: lost.taskId }));
    expect(await countOf(reveille(), lost)).toEqual({
      taskId: lost.taskId,
      assignmentGeneration: 1,
      recoveries: 1,
      lastRecoveryAt: reveille().clock.now(),
    });
  });

  it('RUN-DEDUP-4 has no key by design: counted, not logged', async () => {
    await forgotten(reveille());
    const logger = RecordingLogger.of(reveille());
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      expect(await logger.during(() => recover(reveille()))).toEqual([]);
    });
    expect(moved).toEqual({ 'reason="task_assigned",cause="by_design"': 1 });
  });

  describe('selects', () => {
    it('at most five a tick, the oldest first, and the rest the next time', async () => {
      const scene = await onANewDay(reveille());
      const tasks: string[] = [];
      for (let count = 0; count < 9; count++) {
        reveille().clock.advance(1);
        tasks.push(await scene.createForgotten());
      }
      const started = async () => {
        const runs = await scene.runs();
        return tasks.filter((id) => runs.some(({ taskId }) => taskId === id));
      };
      reveille().clock.advance(UNTOUCHED_MS);
      expect(RECOVERIES_PER_TICK).toBe(5);
      await recover(reveille());
      expect(await started()).toEqual(tasks.slice(0, 5));
      await recover(reveille());
      expect(await started()).toEqual(tasks);
    });

    it('tasks younger than 24 hours', async () => {
      expect(RECOVERY_LOOK_BACK_MS).toBe(24 * 60 * 60_000);
      const tooOld = await forgotten(reveille());
      reveille().clock.advance(1);
      const youngEnough = { ...tooOld, taskId: await tooOld.scene.createForgotten() };
      // The first is 24 hours old then to the millisecond.
      await recover(reveille(), RECOVERY_LOOK_BACK_MS - UNTOUCHED_MS - 1);
      expect(await waiting(tooOld)).toEqual([]);
      expect(await waiting(youngEnough)).toHaveLength(1);
    });

    it('tasks that nobody has touched for a minute', async () => {
      expect(UNTOUCHED_MS).toBe(60_000);
      const lost = await forgotten(reveille());
      await lost.scene.change({ title: 'Other' }, { taskId: lost.taskId });
      await recover(reveille(), UNTOUCHED_MS - 1);
      expect(await waiting(lost)).toEqual([]);
      await recover(reveille(), 1);
      expect(await waiting(lost)).toHaveLength(1);
    });

    it.each(TASK_STATES.filter((state) => state !== 'TODO'))('none in state %s', async (state) => {
      const lost = await forgotten(reveille());
      await lost.scene.sql('UPDATE tasks SET state = $1 WHERE id = $2', [state, lost.taskId]);
      await recover(reveille());
      expect(await waiting(lost)).toEqual([]);
      await lost.scene.sql(`UPDATE tasks SET state = 'TODO' WHERE id = $1`, [lost.taskId]);
      await recover(reveille());
      expect(await waiting(lost)).toHaveLength(1);
    });

    it('no kanban task', async () => {
      const kanban = await forgotten(reveille(), { kind: 'kanban' });
      await recover(reveille());
      expect(await waiting(kanban)).toEqual([]);
      expect(await countOf(reveille(), kanban)).toBeNull();
    });

    it('no task that is nobody’s', async () => {
      const lost = await forgotten(reveille());
      await lost.scene.assign(null, { taskId: lost.taskId });
      await recover(reveille(), UNTOUCHED_MS);
      expect(await lost.scene.runs()).toEqual([]);
      expect(await countOf(reveille(), lost)).toBeNull();
    });

    it('no task whose assignment is still to be decided', async () => {
      const lost = await forgotten(reveille());
      RecordingLogger.of(reveille());
      const { taskId } = lost;
      await whileFailing(reveille(), DRIVING, () => lost.scene.assign(lost.scene.agent(), { taskId }));
      await recover(reveille(), UNTOUCHED_MS);
      expect(await lost.scene.runs()).toEqual([]);
      await lost.scene.sql('DELETE FROM wake_notes WHERE task_id = $1', [taskId]);
      await recover(reveille());
      expect(await waiting(lost)).toHaveLength(1);
    });

    it.each(['queued', 'claimed', 'finished'])('no task with a run that is %s', async (status) => {
      const lost = await forgotten(reveille());
      await recover(reveille());
      await end(lost, status);
      const runs = await lost.scene.runs();
      await recover(reveille(), RECOVERY_LOOK_BACK_MS / 2);
      expect(await lost.scene.runs()).toEqual(runs);
    });

    it.each(['failed', 'cancelled'])('a task whose only run has %s', async (status) => {
      const lost = await forgotten(reveille());
      await lost.scene.assign(lost.scene.agent(), { taskId: lost.taskId });
      await end(lost, status);
      await recover(reveille(), UNTOUCHED_MS);
      expect(await waiting(lost)).toHaveLength(1);
      expect(await lost.scene.runs()).toHaveLength(2);
    });
  });

  describe('passes by, at no cost, what is held back', () => {
    const holds = [
      {
        what: 'its workspace is paused',
        begin: (scene: OfficeScene) => scene.pause(),
        over: (scene: OfficeScene) => scene.resume(),
      },
      ...['paused', 'stopped', 'pending_approval'].map((status) => ({
        what: `its agent is ${status}`,
        begin: (scene: OfficeScene) => scene.setStatus(scene.agent(), status),
        over: (scene: OfficeScene) => scene.setStatus(scene.agent(), 'idle'),
      })),
    ];

    it.each(holds)('while $what', async ({ begin, over }) => {
      const lost = await forgotten(reveille());
      await begin(lost.scene);
      const moved = await movedBy(reveille(), KEYLESS, () => recover(reveille()));
      expect(moved).toEqual({});
      expect(await lost.scene.runs()).toEqual([]);
      expect(await lost.scene.decisions()).toEqual([]);
      expect(await countOf(reveille(), lost)).toBeNull();
      await over(lost.scene);
      await recover(reveille());
      expect(await waiting(lost)).toHaveLength(1);
    });

    it.each(holds)('while $what, leaving its place to others', async ({ begin }) => {
      const held = await forgotten(reveille());
      for (let count = 1; count < RECOVERIES_PER_TICK; count++) await held.scene.createForgotten();
      await begin(held.scene);
      // Younger than all of those, whose turn would come first.
      reveille().clock.advance(1);
      const scene = await OfficeScene.open(reveille());
      const lost = { scene, taskId: await scene.createForgotten() };
      await recover(reveille(), UNTOUCHED_MS);
      expect(await held.scene.runs()).toEqual([]);
      expect(await waiting(lost)).toHaveLength(1);
    });

    it('while it cannot be told whether its workspace is paused', async () => {
      const lost = await forgotten(reveille());
      const logger = RecordingLogger.of(reveille());
      const moved = await movedBy(reveille(), KEYLESS, async () => {
        const failing = () => whileFailing(reveille(), SHAPES.pause, () => recover(reveille()));
        expect(await logger.during(failing, 'RecoverySweep')).toMatchObject([
          { level: 'error', fields: { task_id: lost.taskId } },
        ]);
      });
      expect(moved).toEqual({});
      expect(await lost.scene.runs()).toEqual([]);
      expect(await countOf(reveille(), lost)).toBeNull();
      await recover(reveille());
      expect(await waiting(lost)).toHaveLength(1);
    });
  });

  /** What two sweeps that both have found the task have made of it. */
  const recoveredOnce = async (lost: Forgotten) => {
    expect(await lost.scene.runs()).toMatchObject([{ coalescedCount: 1 }]);
    expect(await countOf(reveille(), lost)).toMatchObject({ recoveries: 1 });
  };

  if (database === 'sqlite') {
    it('recovers once when two sweeps have both found the task', async () => {
      const lost = await forgotten(reveille());
      const looks = jest.spyOn(reveille().get(RecoveriesRepository), 'unstarted');
      const sweep = () => recover(reveille());
      await afterAllHaveLooked(reveille(), looks, [sweep, sweep]);
      await recoveredOnce(lost);
    });
    return;
  }

  const other = useReveille(() => {
    const { clock } = reveille();
    return TestReveille.start('postgres', { databaseUrl: postgresUrl(reveille()), clock });
  });

  it('recovers once when two servers have both found the task', async () => {
    const lost = await forgotten(reveille());
    const servers = [reveille(), other()];
    await meetingAt(servers, [TASK_LOCK, 2], () => Promise.all(servers.map((server) => recover(server))));
    await recoveredOnce(lost);
  });
});
