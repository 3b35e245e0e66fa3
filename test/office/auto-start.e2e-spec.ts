import { COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { OfficeScene, type Reaction } from '../support/office-scene.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const KEYLESS = 'office_run_dedup_keyless_total';
const UNRESOLVED = { 'reason="task_assigned",cause="unresolved"': 1 };

onEachDatabase('a workflow that starts a task’s agent', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const log = () => RecordingLogger.of(reveille());

  /** A task whose assignee has no run, and what moves it to a step. Each move comes too late to be merged. */
  const scene = async (kind = 'kanban', assigned = true) => {
    const opened = await OfficeScene.open(reveille());
    const assignee = assigned ? { assigneeAgentProfileId: opened.agent() } : {};
    const { id } = await opened.create({ kind, ...assignee });
    await opened.sql('DELETE FROM runs WHERE task_id = $1', [id]);
    const start = (body: object, by: Api = opened.office.user) => {
      reveille().clock.advance(COALESCING_WINDOW_MS);
      return by.post<Reaction>(`/v1/tasks/${id}/auto-start`, { stepId: 'review', ...body });
    };
    return { scene: opened, taskId: id, start };
  };

  it.each(['office', 'kanban'])('wakes the assignee of a task of kind %s', async (kind) => {
    const { scene: office, taskId, start } = await scene(kind);
    const { status, body } = await start({ stepTransitionId: 'move-1' });
    const runs = await office.runs(taskId);
    expect(runs).toMatchObject([
      {
        agentProfileId: office.agent(),
        reason: 'task_assigned',
        idempotencyKey: `task_assigned:${taskId}:${office.agent()}:review:move-1`,
      },
    ]);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        reason: 'task_assigned',
        agentProfileId: office.agent(),
        outcome: 'queued',
        runId: runs[0]?.id,
        allowance: null,
        error: null,
      },
    });
    expect(await office.task(taskId)).toMatchObject({ assignmentGeneration: 1 });
  });

  it('RUN-DEDUP-1 recognises the same move, and no other for it', async () => {
    const { scene: office, taskId, start } = await scene();
    const first = await start({ stepTransitionId: 41 });
    expect((await start({ stepTransitionId: 41 })).body).toMatchObject({
      outcome: 'deduped',
      runId: first.body.runId,
    });
    expect((await start({ stepTransitionId: 42 })).body).toMatchObject({ outcome: 'queued' });
    expect((await start({ stepId: 'other', stepTransitionId: 41 })).body).toMatchObject({
      outcome: 'queued',
    });
    expect(await office.runs(taskId)).toHaveLength(3);
  });

  it.each([
    ['is left out', {}],
    ['is 0', { stepTransitionId: 0 }],
    ['is the text 0', { stepTransitionId: '0' }],
    ['is empty', { stepTransitionId: '' }],
  ])('RUN-DEDUP-4 has no key when the transition’s id %s: counted and logged once', async (_when, body) => {
    const { scene: office, taskId, start } = await scene();
    const logger = log();
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      const lines = await logger.during(() => start(body));
      expect(lines.filter(({ fields }) => 'detail' in fields)).toMatchObject([
        { level: 'log', fields: { reason: 'task_assigned', detail: 'zero_step_transition' } },
      ]);
    });
    expect(moved).toEqual(UNRESOLVED);
    expect(await office.runs(taskId)).toMatchObject([{ idempotencyKey: null }]);
  });

  it('RUN-DEDUP-4 counts and logs nothing when the transition is known', async () => {
    const { start } = await scene();
    const logger = log();
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      expect(await logger.during(() => start({ stepTransitionId: 1 }))).toEqual([]);
    });
    expect(moved).toEqual({});
  });

  it('RUN-DEDUP-5 takes two moves without an id for two', async () => {
    const { scene: office, taskId, start } = await scene();
    expect((await start({})).body).toMatchObject({ outcome: 'queued' });
    expect((await start({})).body).toMatchObject({ outcome: 'queued' });
    expect(await office.runs(taskId)).toHaveLength(2);
  });

  it('RUN-DEDUP-4 counts a keyless wake once that a pause holds back and a sweep delivers', async () => {
    const { scene: office, taskId, start } = await scene();
    await office.pause();
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      const { status, body } = await start({});
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { outcome: 'none', error: 'workspace_paused' },
      });
      await office.resume();
      await office.sweep();
    });
    expect(moved).toEqual(UNRESOLVED);
    expect(await office.runs(taskId)).toMatchObject([{ status: 'queued', coalescedCount: 1 }]);
  });

  it('answers that nobody can be woken when the task has no assignee', async () => {
    const { scene: office, start } = await scene('kanban', false);
    const moved = await movedBy(reveille(), KEYLESS, async () => {
      expect(await start({})).toMatchObject({ status: 409, body: { code: 'agent_not_runnable' } });
    });
    expect(moved).toEqual({});
    expect(await office.notes()).toEqual([]);
    expect(await office.runs()).toEqual([]);
  });

  it('is for administrators and people of the workspace', async () => {
    const { scene: office, taskId, start } = await scene();
    const elsewhere = await OfficeScene.open(reveille());
    for (const by of [office.asAgent(), office.office.worker])
      expect(await start({}, by)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await start({}, elsewhere.office.user)).toMatchObject({ status: 404 });
    expect(await office.runs(taskId)).toEqual([]);
    for (const by of [office.office.admin, office.office.user])
      expect(await start({}, by)).toMatchObject({ status: 200, body: { outcome: 'queued' } });
  });

  it.each([{ stepId: '' }, { stepTransitionId: -1 }, { stepTransitionId: 1.5 }, { unknown: 1 }])(
    'refuses %j',
    async (body) => {
      const { scene: office, start } = await scene();
      expect(await start(body)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(await office.runs()).toEqual([]);
    },
  );
});
