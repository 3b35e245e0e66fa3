import {
  RECOVERIES_PER_GENERATION,
  RECOVERY_GAPS_MS,
  RECOVERY_LOOK_BACK_MS,
  UNTOUCHED_MS,
} from '../../src/office/recovery/recovery-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { type Forgotten, countOf, end, forgotten, recover, waiting } from '../support/recoveries.js';
import { spendRetries } from '../support/retries.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const [FIRST_GAP_MS, SECOND_GAP_MS] = RECOVERY_GAPS_MS;

/** Long enough for every gap, and within the look-back. */
const HOURS_MS = RECOVERY_LOOK_BACK_MS / 4;

onEachDatabase('how often a task is started anew', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** Recovers the task as often as one assignment allows, each run failing. */
  async function useUp(lost: Forgotten): Promise<void> {
    for (let count = 1; count <= RECOVERIES_PER_GENERATION; count++) {
      await recover(reveille(), SECOND_GAP_MS);
      expect(await waiting(lost)).toHaveLength(1);
      await end(lost, 'failed');
    }
    expect(await countOf(reveille(), lost)).toMatchObject({ recoveries: RECOVERIES_PER_GENERATION });
  }

  it('is three times an assignment, ten minutes and an hour apart', async () => {
    expect(RECOVERY_GAPS_MS).toEqual([10 * 60_000, 60 * 60_000]);
    const lost = await forgotten(reveille());
    await recover(reveille());
    for (const gap of [FIRST_GAP_MS, SECOND_GAP_MS]) {
      expect(await waiting(lost)).toHaveLength(1);
      await end(lost, 'failed');
      await recover(reveille(), gap - 1);
      expect(await waiting(lost)).toEqual([]);
      await recover(reveille(), 1);
    }
    expect(await waiting(lost)).toHaveLength(1);
    await end(lost, 'failed');
    await recover(reveille(), HOURS_MS);
    expect(await waiting(lost)).toEqual([]);
    expect(await lost.scene.runs()).toHaveLength(3);
    expect(await countOf(reveille(), lost)).toMatchObject({ recoveries: 3 });
  });

  it('begins anew with the next assignment, also to the same agent', async () => {
    const lost = await forgotten(reveille());
    const { scene, taskId } = lost;
    await useUp(lost);
    await scene.assign(scene.agent(), { taskId });
    await end(lost, 'failed');
    await recover(reveille(), UNTOUCHED_MS);
    expect(await waiting(lost)).toHaveLength(1);
    expect(await countOf(reveille(), lost)).toMatchObject({ assignmentGeneration: 2, recoveries: 1 });
    await end(lost, 'failed');
    await recover(reveille(), FIRST_GAP_MS - 1);
    expect(await waiting(lost)).toEqual([]);
    await recover(reveille(), 1);
    expect(await waiting(lost)).toHaveLength(1);
  });

  it('begins anew with no other change', async () => {
    const lost = await forgotten(reveille());
    await useUp(lost);
    await lost.scene.change({ title: 'Other', priority: 'urgent' }, { taskId: lost.taskId });
    await recover(reveille(), HOURS_MS);
    expect(await waiting(lost)).toEqual([]);
  });

  describe('is not at all', () => {
    it('after a person has cancelled the run', async () => {
      const lost = await forgotten(reveille());
      await recover(reveille());
      const [run] = await waiting(lost);
      const cancelled = await lost.scene.office.user.post(`/v1/runs/${run?.id ?? ''}/cancel`, {
        reason: 'no',
      });
      expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } });
      await recover(reveille(), HOURS_MS);
      expect(await waiting(lost)).toEqual([]);
      expect(await countOf(reveille(), lost)).toMatchObject({ recoveries: 1 });
    });

    /** The task’s run has failed for the last time, its worker having said so, and somebody has put the task back. */
    const failedBy = async (report: object) => {
      const lost = await forgotten(reveille());
      const { scene, taskId } = lost;
      await recover(reveille());
      const held = await scene.claim();
      await spendRetries(reveille(), held.run.id);
      const failed = await scene.report(held, 'fail', { error: 'broken', ...report });
      expect(failed).toMatchObject({ status: 200, body: { status: 'failed' } });
      await scene.change({ state: 'TODO' }, { taskId });
      await recover(reveille(), HOURS_MS);
      return waiting(lost);
    };

    it('after a failure that its worker calls final', async () => {
      expect(await failedBy({ retryable: false })).toEqual([]);
    });

    it.each([{}, { retryable: true }])('but is after one reported with %j', async (report) => {
      expect(await failedBy(report)).toHaveLength(1);
    });

    it('while its run waits to be tried again', async () => {
      const lost = await forgotten(reveille());
      const { scene, taskId } = lost;
      await recover(reveille());
      await scene.report(await scene.claim(), 'fail', { error: 'broken' });
      await scene.change({ state: 'TODO' }, { taskId });
      await recover(reveille(), HOURS_MS);
      expect(await waiting(lost)).toMatchObject([{ retryCount: 1 }]);
      expect(await countOf(reveille(), lost)).toMatchObject({ recoveries: 1 });
    });

    it('while it is in progress: the first claim has started it', async () => {
      const lost = await forgotten(reveille());
      const { scene, taskId } = lost;
      await recover(reveille());
      const held = await scene.claim();
      await spendRetries(reveille(), held.run.id);
      await scene.report(held, 'fail', { error: 'broken' });
      expect(await scene.task(taskId)).toMatchObject({ state: 'IN_PROGRESS' });
      await recover(reveille(), HOURS_MS);
      expect(await waiting(lost)).toEqual([]);
    });
  });
});
