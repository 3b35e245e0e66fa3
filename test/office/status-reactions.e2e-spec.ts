import { TASK_STATES, type TaskState } from '../../src/tasks/task.schema.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { assign, newTask, patch, runOf, runsAbout, seat, told } from '../support/tasks.js';

/** The seven words of the vocabulary, as the states fold into them. */
const STATES_OF = {
  backlog: ['BACKLOG'],
  todo: ['TODO', 'CREATED', 'SCHEDULING'],
  in_progress: ['IN_PROGRESS', 'WAITING_FOR_INPUT'],
  in_review: ['REVIEW'],
  blocked: ['BLOCKED', 'FAILED'],
  done: ['COMPLETED'],
  cancelled: ['CANCELLED'],
} as const satisfies Record<string, readonly TaskState[]>;

onEachDatabase('what a change of status wakes', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** A task of kind kanban in the given state, whose assignee nobody has woken. */
  const taskIn = (office: Office, state: TaskState) =>
    newTask(office, { state, assigneeAgentProfileId: pick(office.agents) });

  /** The reasons for which the task's assignee is woken when the state goes from one to the other. */
  async function reasonsOf(office: Office, from: TaskState, to: TaskState): Promise<readonly string[]> {
    const { reactions } = await patch(office.user, await taskIn(office, from), { state: to });
    expect(reactions.map(({ agentProfileId }) => agentProfileId)).toEqual(
      reactions.map(() => office.agents[0]),
    );
    return reactions.map(({ reason }) => reason);
  }

  describe('the vocabulary', () => {
    it('folds every stored state, and each into one word', () => {
      expect(Object.values(STATES_OF).flat().sort()).toEqual([...TASK_STATES].sort());
    });

    it.each(STATES_OF.blocked)('wakes the assignee when a task leaves %s', async (from) => {
      const office = await anOffice(reveille());
      for (const to of [...STATES_OF.todo, ...STATES_OF.in_progress, ...STATES_OF.backlog])
        expect(await reasonsOf(office, from, to)).toEqual(['task_unblocked']);
    });

    it.each(Object.values(STATES_OF).flatMap((states) => states.slice(1).map((to) => [states[0], to])))(
      'sees no change between %s and %s',
      async (from, to) => {
        const office = await anOffice(reveille());
        expect(await reasonsOf(office, from, to)).toEqual([]);
        expect(await reasonsOf(office, to, from)).toEqual([]);
      },
    );

    it.each([...STATES_OF.done, ...STATES_OF.cancelled])('reopens a task that was %s', async (from) => {
      const office = await anOffice(reveille());
      for (const to of [...STATES_OF.todo, ...STATES_OF.in_progress])
        expect(await reasonsOf(office, from, to)).toEqual(['task_reopened']);
      for (const to of [...STATES_OF.backlog, ...STATES_OF.blocked])
        expect(await reasonsOf(office, from, to)).toEqual([]);
    });

    it('wakes nobody for the ordinary course of work', async () => {
      const office = await anOffice(reveille());
      for (const [from, to] of [
        ['BACKLOG', 'TODO'],
        ['TODO', 'IN_PROGRESS'],
        ['IN_PROGRESS', 'BLOCKED'],
        ['IN_PROGRESS', 'REVIEW'],
        ['REVIEW', 'IN_PROGRESS'],
        ['REVIEW', 'COMPLETED'],
      ] as const)
        expect(await reasonsOf(office, from, to)).toEqual([]);
    });

    it('follows only the first rule: who goes from blocked to done is not unblocked', async () => {
      const office = await anOffice(reveille());
      expect(await reasonsOf(office, 'BLOCKED', 'COMPLETED')).toEqual([]);
      expect(await reasonsOf(office, 'BLOCKED', 'CANCELLED')).toEqual([]);
      expect(await reasonsOf(office, 'BLOCKED', 'REVIEW')).toEqual([]);
    });

    it('wakes nobody where nobody is assigned', async () => {
      const office = await anOffice(reveille());
      for (const [from, to] of [
        ['BLOCKED', 'TODO'],
        ['COMPLETED', 'TODO'],
      ] as const)
        expect(
          (await patch(office.user, await newTask(office, { state: from }), { state: to })).reactions,
        ).toEqual([]);
    });
  });

  describe('what is told', () => {
    it.each([
      ['BLOCKED', 'TODO', 'task_unblocked'],
      ['COMPLETED', 'IN_PROGRESS', 'task_reopened'],
    ] as const)('who acted and on what, when %s becomes %s', async (from, to, reason) => {
      const office = await anOffice(reveille());
      const taskId = await taskIn(office, from);
      const { reactions } = await patch(pick(office.asAgents, 1), taskId, { state: to });
      expect(await runOf(office, reactions[0])).toMatchObject({
        idempotencyKey: null,
        payload: {
          reason,
          task_id: taskId,
          workspace_id: office.workspaceId,
          actor_type: 'agent',
          actor_id: office.agents[1],
        },
      });
    });

    it('no more than is known: what has nothing to say is left out', async () => {
      const office = await anOffice(reveille());
      const { reactions } = await patch(office.user, await taskIn(office, 'BLOCKED'), { state: 'TODO' });
      expect(Object.keys((await runOf(office, reactions[0])).payload).sort()).toEqual(
        ['actor_id', 'actor_type', 'reason', 'task_id', 'workspace_id'].sort(),
      );
    });
  });

  describe('review', () => {
    /** A task with a reviewer, an approver and a watcher, beside its assignee. */
    async function reviewed(office: Office): Promise<string> {
      const taskId = await taskIn(office, 'IN_PROGRESS');
      await seat(office, taskId, pick(office.agents, 1), 'approver');
      await seat(office, taskId, pick(office.agents, 2), 'reviewer');
      await seat(office, taskId, pick(office.agents, 3), 'watcher');
      return taskId;
    }

    it('wakes reviewers and approvers, each with its role, and neither watchers nor the assignee', async () => {
      const office = await anOffice(reveille(), 4);
      const taskId = await reviewed(office);
      const { reactions } = await patch(office.user, taskId, { state: 'REVIEW' });
      expect(told(reactions)).toEqual([
        ['task_review_requested', office.agents[2], 'queued'],
        ['task_review_requested', office.agents[1], 'queued'],
      ]);
      const runs = await Promise.all(reactions.map((reaction) => runOf(office, reaction)));
      expect(runs.map(({ payload }) => payload['role'])).toEqual(['reviewer', 'approver']);
    });

    it('is asked for once, however often the state is written, and again after it was left', async () => {
      const office = await anOffice(reveille(), 4);
      const taskId = await reviewed(office);
      await patch(office.user, taskId, { state: 'REVIEW' });
      expect((await patch(office.user, taskId, { state: 'REVIEW' })).reactions).toEqual([]);
      await patch(office.user, taskId, { state: 'IN_PROGRESS' });
      expect((await patch(office.user, taskId, { state: 'REVIEW' })).reactions).toHaveLength(2);
    });

    it('is asked of an agent once, as the first of its roles', async () => {
      const office = await anOffice(reveille());
      const taskId = await taskIn(office, 'IN_PROGRESS');
      await seat(office, taskId, pick(office.agents, 1), 'approver');
      await seat(office, taskId, pick(office.agents, 1), 'reviewer');
      const { reactions } = await patch(office.user, taskId, { state: 'REVIEW' });
      expect(told(reactions)).toEqual([['task_review_requested', office.agents[1], 'queued']]);
      expect((await runOf(office, reactions[0])).payload).toMatchObject({ role: 'reviewer' });
    });

    it('is not asked of whose role was taken away', async () => {
      const office = await anOffice(reveille(), 4);
      const taskId = await reviewed(office);
      await office.user.delete(`/v1/tasks/${taskId}/participants/${pick(office.agents, 2)}?role=reviewer`);
      expect(told((await patch(office.user, taskId, { state: 'REVIEW' })).reactions)).toEqual([
        ['task_review_requested', office.agents[1], 'queued'],
      ]);
    });
  });

  it('looks at the status, then at the assignee, then at the comment', async () => {
    const office = await anOffice(reveille(), 3);
    const [, second, mentioned] = office.agents;
    const taskId = await taskIn(office, 'BLOCKED');
    const { reactions } = await patch(office.user, taskId, {
      comment: { body: 'Go on.', mentions: [mentioned] },
      assigneeAgentProfileId: second,
      state: 'TODO',
    });
    expect(told(reactions)).toEqual([
      ['task_unblocked', second, 'queued'],
      ['task_assigned', second, 'queued'],
      ['task_comment', second, 'queued'],
      ['task_mentioned', mentioned, 'queued'],
    ]);
    expect(await runsAbout(office, taskId)).toHaveLength(4);
  });

  it('wakes nobody for a title or a priority, and nobody when a task is cancelled', async () => {
    const office = await anOffice(reveille());
    await assign(office.user, office.taskId, pick(office.agents));
    for (const change of [{ title: 'Another' }, { priority: 'urgent' }, { state: 'CANCELLED' }])
      expect((await patch(office.user, office.taskId, change)).reactions).toEqual([]);
    expect(await runsAbout(office, office.taskId)).toHaveLength(1);
  });
});
