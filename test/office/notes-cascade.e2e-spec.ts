import { LEASE_MS } from '../../src/office/reactivity/note-book.js';
import { onEachDatabase } from '../support/databases.js';
import { DRIVING, after, first, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { OfficeScene } from '../support/office-scene.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const KEYLESS = 'office_run_dedup_keyless_total';

/** The read of what one task waits for, not that of who waits for one. */
const BLOCKERS_READ = /"task_blockers" "blocker" ON "blocker"\."blocker_task_id" = "task"/;

onEachDatabase('the end of a task for which others wait', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** Two tasks, one of each agent, that wait for the office’s, and what finishes that. */
  const scene = async () => {
    const opened = await OfficeScene.open(reveille());
    const { user, taskId } = opened.office;
    const waiting: string[] = [];
    for (const agent of [0, 1]) {
      const { id } = await opened.create({ kind: 'kanban', assigneeAgentProfileId: opened.agent(agent) });
      await user.put(`/v1/tasks/${id}/blockers/${taskId}`);
      waiting.push(id);
    }
    const finish = () => opened.change({ state: 'COMPLETED' });
    return { scene: opened, waiting, finish };
  };

  /** Which agents were woken, each as often as it was. */
  const woken = async (office: OfficeScene) => {
    const runs = await office.runs();
    expect(runs.map(({ reason }) => reason)).toEqual(runs.map(() => 'task_blockers_resolved'));
    expect(runs.map(({ coalescedCount }) => coalescedCount)).toEqual(runs.map(() => 1));
    return runs.map(({ agentProfileId }) => agentProfileId).sort();
  };
  const everybody = (office: OfficeScene) => [...office.office.agents].sort();

  it('wakes whoever waited, once', async () => {
    const { scene: office, finish } = await scene();
    const { reactions } = await finish();
    expect(reactions).toMatchObject([{ outcome: 'queued' }, { outcome: 'queued' }]);
    await office.sweep(LEASE_MS);
    expect(await woken(office)).toEqual(everybody(office));
    expect(await office.notes()).toEqual([]);
  });

  it.each([
    ['before anybody was found', 0, 1],
    ['when they were found and nobody was woken', 1, 2],
    ['when one of two was woken', 2, 1],
  ])('wakes each of them once when its driver dies %s', async (_when, strokes, owed) => {
    const { scene: office, finish } = await scene();
    RecordingLogger.of(reveille());
    await whileFailing(reveille(), after(strokes, DRIVING), finish);
    expect(await office.notes()).toHaveLength(owed);
    const before = await office.runs();
    await office.sweep(LEASE_MS - 1);
    expect(await office.runs()).toEqual(before);
    await office.sweep(1);
    await office.sweep(LEASE_MS);
    expect(await woken(office)).toEqual(everybody(office));
    expect(await office.notes()).toEqual([]);
    expect((await office.decisions()).filter(({ error }) => error === null)).toEqual([]);
  });

  it('is due anew when it cannot be read what one of them waits for: nobody is woken, nothing counted', async () => {
    const { scene: office, waiting, finish } = await scene();
    const logger = RecordingLogger.of(reveille());
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      const failing = () => whileFailing(reveille(), BLOCKERS_READ, finish);
      const lines = await logger.during(failing, 'Reactivity');
      expect(lines).toMatchObject([
        { level: 'error', fields: { task_id: office.office.taskId, reason: 'task_blockers_resolved' } },
      ]);
      const [first = ''] = [...waiting].sort();
      expect(lines[0]?.fields['error']).toContain(first);
    });
    expect(moved).toEqual({});
    expect(await office.task()).toMatchObject({ state: 'COMPLETED' });
    expect(await office.runs()).toEqual([]);
    expect(await office.notes()).toMatchObject([{ agentProfileId: null, dueAt: reveille().clock.now() }]);
    await office.sweep();
    await office.sweep();
    expect(await woken(office)).toEqual(everybody(office));
    expect(await office.notes()).toEqual([]);
  });

  it('keeps nobody else’s cascade from being carried out', async () => {
    const { scene: failing, finish } = await scene();
    const { scene: other, finish: finishOther } = await scene();
    RecordingLogger.of(reveille());
    // Both have only been written down; of the two, the sweep fails at the one that it comes to first.
    await whileFailing(reveille(), DRIVING, finish);
    await whileFailing(reveille(), DRIVING, finishOther);
    reveille().clock.advance(LEASE_MS);
    await whileFailing(reveille(), first(1, BLOCKERS_READ), () => failing.sweep());
    expect(await failing.runs()).toEqual([]);
    expect(await woken(other)).toEqual(everybody(other));
    await failing.sweep();
    expect(await woken(failing)).toEqual(everybody(failing));
  });
});
