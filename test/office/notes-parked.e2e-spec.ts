import { Transactions } from '../../src/database/transactions.js';
import type { Note } from '../../src/office/reactivity/note.schema.js';
import { NotesRepository } from '../../src/office/reactivity/notes.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const DECISIONS = 'office_wake_decisions_total';
const MINUTE_MS = 60_000;

/** More notes than one statement of the sweep reads. */
const MANY = 120;

onEachDatabase('a wake that a pause holds back', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille(), 3);

  /** Whatever can hold back what the first agent is owed, with its end and the code by which it is told. */
  const holds = [
    {
      what: 'of its workspace',
      error: 'workspace_paused',
      begin: (scene: OfficeScene) => scene.pause(),
      end: (scene: OfficeScene) => scene.resume(),
    },
    ...['paused', 'stopped', 'pending_approval'].map((status) => ({
      what: `of its agent, which is ${status}`,
      error: 'agent_not_runnable',
      begin: (scene: OfficeScene) => scene.setStatus(scene.agent(), status),
      end: (scene: OfficeScene) => scene.setStatus(scene.agent(), 'idle'),
    })),
  ];

  it.each(holds)('$what lets the change stand, waits, and is decided once afterwards', async (hold) => {
    const scene = await open();
    const { taskId } = scene.office;
    await hold.begin(scene);
    const { task, reactions } = await scene.assign(scene.agent());
    expect(task).toMatchObject({ assigneeAgentProfileId: scene.agent(), assignmentGeneration: 1 });
    expect(reactions).toEqual([
      {
        reason: 'task_assigned',
        agentProfileId: scene.agent(),
        outcome: 'none',
        runId: null,
        allowance: null,
        error: hold.error,
      },
    ]);
    const kept = { notes: await scene.notes(), decisions: await scene.decisions() };
    expect(kept).toMatchObject({
      notes: [{ dueAt: reveille().clock.now() }],
      decisions: [{ error: hold.error, count: 1 }],
    });
    const sweeps = async () => {
      for (let tick = 0; tick < 3; tick++) await scene.sweep(MINUTE_MS);
    };
    expect(await movedBy(reveille(), DECISIONS, sweeps)).toEqual({});
    expect({ notes: await scene.notes(), decisions: await scene.decisions() }).toEqual(kept);
    expect(await scene.runs()).toEqual([]);

    await hold.end(scene);
    await scene.sweep();
    await scene.sweep(MINUTE_MS);
    expect(await scene.runs()).toMatchObject([
      { taskId, agentProfileId: scene.agent(), status: 'queued', coalescedCount: 1 },
    ]);
    expect(await scene.notes()).toEqual([]);
  });

  it('is held back by a pause of the agent when that of the workspace is over, and the other way round', async () => {
    const scene = await open();
    await scene.pause();
    await scene.setStatus(scene.agent(), 'paused');
    await scene.assign(scene.agent());
    await scene.resume();
    await scene.sweep();
    expect(await scene.runs()).toEqual([]);
    await scene.pause();
    await scene.setStatus(scene.agent(), 'idle');
    await scene.sweep();
    expect(await scene.runs()).toEqual([]);
    await scene.resume();
    await scene.sweep();
    expect(await scene.runs()).toHaveLength(1);
  });

  it('holds back nothing that another workspace owes', async () => {
    const [paused, running] = [await open(), await open()];
    for (const scene of [paused, running]) {
      await scene.pause();
      await scene.assign(scene.agent());
    }
    await running.resume();
    await running.sweep();
    expect(await running.runs()).toHaveLength(1);
    expect(await paused.runs()).toEqual([]);
  });

  it('RUN-DEDUP-1 brings one run, of the last assignment, however often the task was assigned meanwhile', async () => {
    const scene = await open();
    const { taskId } = scene.office;
    await scene.pause();
    for (const agent of [0, 1, 0, 0]) await scene.assign(scene.agent(agent));
    expect(await scene.notes()).toHaveLength(4);
    await scene.resume();
    await scene.sweep();
    expect(await scene.runs()).toMatchObject([
      { coalescedCount: 1, idempotencyKey: `task_assigned:${taskId}:${scene.agent()}:4` },
    ]);
    expect(await scene.notes()).toEqual([]);
  });

  it('brings one run, of whom the task was given to meanwhile', async () => {
    const scene = await open();
    await scene.setStatus(scene.agent(), 'paused');
    await scene.assign(scene.agent());
    await scene.assign(scene.agent(1));
    await scene.setStatus(scene.agent(), 'idle');
    await scene.sweep();
    expect(await scene.runs()).toMatchObject([{ agentProfileId: scene.agent(1), coalescedCount: 1 }]);
    expect(await scene.notes()).toEqual([]);
  });

  it.each([
    ['the task is nobody’s any more', { assigneeAgentProfileId: null }],
    ['the task was cancelled', { state: 'CANCELLED' }],
  ])('brings none when %s', async (_when, change) => {
    const scene = await open();
    await scene.pause();
    await scene.assign(scene.agent());
    await scene.change(change);
    await scene.resume();
    await scene.sweep();
    expect(await scene.runs()).toEqual([]);
    expect(await scene.notes()).toEqual([]);
  });

  describe('after a comment', () => {
    /** A task of the first agent, about which somebody writes to the second while the workspace is paused. */
    const written = async () => {
      const scene = await open();
      const { id: taskId } = await scene.create({ kind: 'kanban', assigneeAgentProfileId: scene.agent() });
      await scene.pause();
      const comment = { body: 'Look', mentions: [scene.agent(1)] };
      const { reactions } = await scene.change({ comment }, { taskId });
      expect(reactions).toMatchObject([
        { reason: 'task_comment', outcome: 'none', error: 'workspace_paused' },
        { reason: 'task_mentioned', outcome: 'none', error: 'workspace_paused' },
      ]);
      return { scene, taskId };
    };

    it('reaches the assignee and whom it mentions', async () => {
      const { scene } = await written();
      await scene.resume();
      await scene.sweep();
      const reached = (await scene.runs()).map(({ agentProfileId, reason }) => [agentProfileId, reason]);
      expect(new Set(reached)).toEqual(
        new Set([
          [scene.agent(), 'task_comment'],
          [scene.agent(1), 'task_mentioned'],
        ]),
      );
      expect(await scene.notes()).toEqual([]);
    });

    it('still reaches whom it mentions when the task was given to another, but not who had it', async () => {
      const { scene, taskId } = await written();
      await scene.assign(scene.agent(2), { taskId });
      await scene.resume();
      await scene.sweep();
      const reached = (await scene.runs()).map(({ agentProfileId, reason }) => [agentProfileId, reason]);
      expect(new Set(reached)).toEqual(
        new Set([
          [scene.agent(1), 'task_mentioned'],
          [scene.agent(2), 'task_assigned'],
        ]),
      );
      expect(await scene.notes()).toEqual([]);
    });

    it('reaches nobody who was deleted, whose notes are struck at once', async () => {
      const { scene } = await written();
      await scene.removeAgent(scene.agent(1));
      expect(await scene.notes()).toMatchObject([{ agentProfileId: scene.agent() }]);
      await scene.resume();
      await scene.sweep();
      expect(await scene.runs()).toMatchObject([{ agentProfileId: scene.agent() }]);
      expect(await scene.notes()).toEqual([]);
    });
  });

  it('is struck by the sweep when it was owed to an agent that is gone all the same', async () => {
    const scene = await open();
    await scene.pause();
    await scene.assign(scene.agent());
    const [note] = await scene.notes();
    await scene.removeAgent(scene.agent());
    await owe([pick([note].filter((left) => left !== undefined))]);
    await scene.resume();
    await scene.sweep();
    expect(await scene.notes()).toEqual([]);
    expect(await scene.runs()).toEqual([]);
  });

  it('is decided with however many others there are, in one sweep', async () => {
    const scene = await open();
    await scene.pause();
    await scene.change({ comment: { body: 'Look', mentions: [scene.agent()] } });
    const note = pick(await scene.notes());
    await owe(
      Array.from({ length: MANY - 1 }, (_, index) => ({
        ...note,
        id: `${note.id}-${index}`,
        idempotencyKey: null,
      })),
    );
    await scene.resume();
    await scene.sweep();
    expect(await scene.notes()).toEqual([]);
    expect(await scene.runs()).toMatchObject([{ coalescedCount: MANY }]);
  });

  /** Owes what the notes say. */
  function owe(notes: readonly Note[]): Promise<void> {
    return reveille()
      .get(Transactions)
      .run(async () => {
        for (const note of notes) await reveille().get(NotesRepository).insert(note);
      });
  }
});
