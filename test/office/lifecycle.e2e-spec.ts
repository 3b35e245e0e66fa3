import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';

onEachDatabase('creating a task', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille());

  /** What was told when the task was created. */
  const toldOf = async (scene: OfficeScene, taskId: string) =>
    pick((await scene.events('task.created')).filter(({ subject }) => subject.taskId === taskId)).data;

  describe('with an assignee', () => {
    it('RUN-DEDUP-1 commits generation 1, in the row and in the event', async () => {
      const scene = await open();
      const { id } = await scene.create({ assigneeAgentProfileId: scene.agent() });
      expect(await scene.task(id)).toMatchObject({ assignmentGeneration: 1 });
      expect(await toldOf(scene, id)).toEqual({
        state: 'TODO',
        assigneeAgentProfileId: scene.agent(),
        assignmentGeneration: 1,
      });
    });

    it('wakes the assignee of an office task once', async () => {
      const scene = await open();
      const { id, reactions } = await scene.create({ assigneeAgentProfileId: scene.agent() });
      const runs = await scene.runs(id);
      expect(runs).toMatchObject([{ agentProfileId: scene.agent(), coalescedCount: 1 }]);
      expect(reactions).toEqual([
        {
          reason: 'task_assigned',
          agentProfileId: scene.agent(),
          outcome: 'queued',
          runId: pick(runs).id,
          error: null,
          allowance: null,
        },
      ]);
      await scene.sweep();
      expect(await scene.runs(id)).toEqual(runs);
    });

    it('wakes nobody about a kanban task, whose assignee a later assignment does wake', async () => {
      const scene = await open();
      const { id, reactions } = await scene.create({ kind: 'kanban', assigneeAgentProfileId: scene.agent() });
      expect(reactions).toEqual([]);
      expect(await scene.notes()).toEqual([]);
      expect(await scene.runs(id)).toEqual([]);
      const update = await scene.assign(scene.agent(), { taskId: id });
      expect(update.task).toMatchObject({ assignmentGeneration: 2 });
      expect(await scene.runs(id)).toHaveLength(1);
    });

    it('creates nothing for an agent of another workspace', async () => {
      const scene = await open();
      const stranger = (await open()).agent();
      const { workspaceId, user } = scene.office;
      const body = { workspaceId, title: 'Task', kind: 'office', assigneeAgentProfileId: stranger };
      const before = (await scene.events('task.created')).length;
      expect(await user.post('/v1/tasks', body)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await scene.events('task.created')).toHaveLength(before);
      expect(await user.post('/v1/tasks', { ...body, assigneeAgentProfileId: scene.agent() })).toMatchObject({
        status: 201,
      });
    });

    it('lets the task stand when the wake fails, and wakes at the next sweep', async () => {
      const scene = await open();
      const create = () => scene.create({ assigneeAgentProfileId: scene.agent() });
      const { id, reactions } = await whileFailing(reveille(), SHAPES.insert, create);
      expect(reactions).toMatchObject([{ outcome: 'none', runId: null, error: 'internal' }]);
      expect(await scene.runs(id)).toEqual([]);
      await scene.sweep();
      expect(await scene.runs(id)).toMatchObject([{ agentProfileId: scene.agent() }]);
    });

    it('lets the task stand in a paused workspace, and wakes after the resume', async () => {
      const scene = await open();
      await scene.pause();
      const { id, reactions } = await scene.create({ assigneeAgentProfileId: scene.agent() });
      expect(reactions).toMatchObject([{ outcome: 'none', runId: null, error: 'workspace_paused' }]);
      await scene.resume();
      await scene.sweep();
      expect(await scene.runs(id)).toHaveLength(1);
    });
  });

  describe('without an assignee', () => {
    it('RUN-DEDUP-1 leaves the generation at 0, which the first assignment raises to 1', async () => {
      const scene = await open();
      const { id } = await scene.create();
      expect(await toldOf(scene, id)).toMatchObject({
        assigneeAgentProfileId: null,
        assignmentGeneration: 0,
      });
      const { task } = await scene.assign(scene.agent(), { taskId: id });
      expect(task).toMatchObject({ assignmentGeneration: 1 });
      expect(await scene.task(id)).toMatchObject({ assignmentGeneration: 1 });
      const [run] = await scene.runs(id);
      expect(run?.idempotencyKey).toBe(`task_assigned:${id}:${scene.agent()}:1`);
    });

    it('wakes nobody', async () => {
      const scene = await open();
      const { id, reactions } = await scene.create();
      expect(reactions).toEqual([]);
      expect(await scene.notes()).toEqual([]);
      expect(await scene.runs(id)).toEqual([]);
    });
  });

  it('RUN-DEDUP-1 no other change moves the generation or wakes the assignee', async () => {
    const scene = await open();
    const { id } = await scene.create({ assigneeAgentProfileId: scene.agent() });
    const { task, reactions } = await scene.change({ title: 'Other', priority: 'urgent' }, { taskId: id });
    expect(task).toMatchObject({ title: 'Other', assignmentGeneration: 1 });
    expect(reactions).toEqual([]);
    expect(await scene.runs(id)).toMatchObject([{ coalescedCount: 1 }]);
  });
});
