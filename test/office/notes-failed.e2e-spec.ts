import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { OfficeScene } from '../support/office-scene.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const ALLOWANCES = 'office_assignment_rate_limit_total';
const STRIKE = /^DELETE FROM "wake_notes"/;

/** Whatever deciding a wake consists of, and by which code the wake’s producer is told when it fails. */
const FAILURES = [
  ['whether the workspace is paused cannot be read', SHAPES.pause, 'pause_gate_unavailable'],
  ['the run with its key cannot be read', SHAPES.key, 'internal'],
  ['the merged wake with its key cannot be read', SHAPES.mergedKey, 'internal'],
  ['the run to merge into cannot be read', SHAPES.mergeTarget, 'internal'],
  ['the run cannot be written', SHAPES.insert, 'internal'],
  ['its note cannot be struck', STRIKE, 'internal'],
] as const;

onEachDatabase('a wake that could not be decided', (database: DatabaseName) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille());

  it.each(FAILURES)(
    'because %s, is due at once and decided by the next sweep',
    async (_what, shape, error) => {
      const scene = await open();
      RecordingLogger.of(reveille());
      const assign = () => scene.assign(scene.agent());
      const { task, reactions } = await whileFailing(reveille(), shape, assign);
      expect(task).toMatchObject({ assigneeAgentProfileId: scene.agent(), assignmentGeneration: 1 });
      expect(reactions).toMatchObject([{ outcome: 'none', runId: null, error }]);
      expect(await scene.runs()).toEqual([]);
      expect(await scene.notes()).toMatchObject([{ dueAt: reveille().clock.now() }]);
      expect(await scene.decisions()).toMatchObject([{ outcome: 'none', error, count: 1 }]);
      await scene.sweep();
      await scene.sweep();
      expect(await scene.runs()).toMatchObject([{ agentProfileId: scene.agent(), coalescedCount: 1 }]);
      expect(await scene.notes()).toEqual([]);
    },
  );

  it('because its agent cannot be read, is due at once and decided by the next sweep', async () => {
    const scene = await open();
    RecordingLogger.of(reveille());
    const { id: taskId } = await scene.create({
      kind: 'kanban',
      state: 'BLOCKED',
      assigneeAgentProfileId: scene.agent(),
    });
    // Unlike an assignment this reads no agent before it is decided.
    const unblock = () => scene.change({ state: 'TODO' }, { taskId });
    const { reactions } = await whileFailing(reveille(), SHAPES.agent, unblock);
    expect(reactions).toMatchObject([{ reason: 'task_unblocked', outcome: 'none', error: 'internal' }]);
    expect(await scene.runs()).toEqual([]);
    await scene.sweep();
    expect(await scene.runs(taskId)).toMatchObject([{ reason: 'task_unblocked' }]);
    expect(await scene.notes()).toEqual([]);
  });

  it('is left to the sweep after when the next one fails as well', async () => {
    const scene = await open();
    const logger = RecordingLogger.of(reveille());
    await whileFailing(reveille(), SHAPES.insert, () => scene.assign(scene.agent()));
    const again = () => whileFailing(reveille(), SHAPES.insert, () => scene.sweep());
    expect(await logger.during(again, 'Reactivity')).toMatchObject([{ level: 'error' }]);
    expect(await scene.runs()).toEqual([]);
    expect(await scene.notes()).toMatchObject([{ dueAt: reveille().clock.now() }]);
    await scene.sweep();
    expect(await scene.runs()).toHaveLength(1);
  });

  it('AC-OFFICE-ASSIGN-RATE-002.2 is not one that merely could not be counted: it is admitted', async () => {
    const scene = await open();
    const assign = () => scene.assign(scene.agent(), { by: scene.asAgent(1) });
    const moved = await movedBy(reveille(), ALLOWANCES, async () => {
      const { reactions } = await whileFailing(reveille(), SHAPES.count, assign);
      expect(reactions).toMatchObject([{ outcome: 'queued', error: null, allowance: { observed: null } }]);
    });
    expect(moved).toEqual({ 'reason="count_read_failed"': 1 });
    expect(await scene.notes()).toEqual([]);
  });
});
