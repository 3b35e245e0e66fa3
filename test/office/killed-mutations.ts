import type { Actor } from '../../src/auth/principal.js';
import { BlockersService } from '../../src/office/blockers.service.js';
import {
  assignmentKey,
  blockersResolvedKey,
  childrenCompletedKey,
  commentKey,
  mentionKey,
} from '../../src/office/dedup-keys.js';
import type { MutationInput } from '../../src/office/task-mutations.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import type { Task } from '../../src/tasks/task.schema.js';
import { aTask, aWorkspace, anAgent } from '../../src/testing.js';
import type { TestReveille } from '../support/reveille.js';

/** A wake by what must be equal for it to be the same one. */
export interface OwedWake {
  readonly agentProfileId: string;
  readonly reason: string;
  readonly key: string | null;
}

/** An office in which something is about to be done to a task. */
export interface Scene {
  readonly workspaceId: string;
  readonly taskId: string;
  readonly changes: MutationInput;
  readonly actor: Actor;
  /** What the task is afterwards, beside what it was. */
  readonly after: Partial<Task>;
  /** The wakes that were decided before. */
  readonly earlier: readonly OwedWake[];
  /** The wakes that it owes, which may name its comment. */
  readonly owed: (commentId: string) => readonly OwedWake[];
}

const A_PERSON: Actor = { type: 'user', id: 'a-person' };

/**
 * A blocked task is taken from one agent, who has a conversation about it, and given to another with a comment that
 * mentions a third. The new one has been told a second ago that it is unblocked: that wake, keyless, takes another in.
 */
async function handedOver(reveille: TestReveille): Promise<Scene> {
  const { app } = reveille;
  const { id: workspaceId } = await aWorkspace(app);
  const [previous, next, mentioned] = await Promise.all([1, 2, 3].map(() => anAgent(app, workspaceId)));
  if (previous === undefined || next === undefined || mentioned === undefined) throw new Error('No agents.');
  const { id: taskId } = await aTask(app, workspaceId, {
    kind: 'kanban',
    state: 'BLOCKED',
    assigneeAgentProfileId: previous.id,
  });
  const pair = { taskId, agentProfileId: previous.id, executionProfileId: 'default' };
  await reveille.get(SessionsService).ensure(pair);
  const unblocked = { agentProfileId: next.id, reason: 'task_unblocked', key: null };
  const payload = JSON.stringify({ task_id: taskId });
  await reveille.get(SchedulerService).queueRun({ ...unblocked, payload });
  return {
    workspaceId,
    taskId,
    changes: {
      state: 'TODO',
      assigneeAgentProfileId: next.id,
      comment: { body: 'Over to you.', mentions: [mentioned.id] },
    },
    actor: A_PERSON,
    after: { state: 'TODO', assigneeAgentProfileId: next.id, assignmentGeneration: 2 },
    earlier: [unblocked],
    owed: (commentId) => [
      unblocked,
      { agentProfileId: next.id, reason: 'task_assigned', key: assignmentKey(taskId, next.id, 2) },
      { agentProfileId: next.id, reason: 'task_comment', key: commentKey(commentId, next.id) },
      { agentProfileId: mentioned.id, reason: 'task_mentioned', key: mentionKey(commentId, mentioned.id) },
    ],
  };
}

/** An agent finishes the last part of a task, for which two others have been waiting. */
async function finished(reveille: TestReveille): Promise<Scene> {
  const { app } = reveille;
  const { id: workspaceId } = await aWorkspace(app);
  const [worker, first, second, overseer] = await Promise.all(
    [1, 2, 3, 4].map(() => anAgent(app, workspaceId)),
  );
  if (worker === undefined || first === undefined || second === undefined || overseer === undefined)
    throw new Error('No agents.');
  const heldBy = ({ id }: { readonly id: string }) =>
    aTask(app, workspaceId, { kind: 'kanban', state: 'IN_PROGRESS', assigneeAgentProfileId: id });
  const parent = await heldBy(overseer);
  const sibling = await aTask(app, workspaceId, { state: 'CANCELLED', parentId: parent.id });
  const task = await aTask(app, workspaceId, { state: 'REVIEW', parentId: parent.id });
  const waiting = [
    { agent: first, task: await heldBy(first), blockers: [task.id] },
    { agent: second, task: await heldBy(second), blockers: [sibling.id, task.id] },
  ];
  for (const { task: blocked, blockers } of waiting)
    for (const blocker of blockers) await reveille.get(BlockersService).add(blocked.id, blocker);
  return {
    workspaceId,
    taskId: task.id,
    changes: { state: 'COMPLETED' },
    actor: { type: 'agent', id: worker.id },
    after: { state: 'COMPLETED' },
    earlier: [],
    owed: () => [
      ...waiting.map(({ agent, task: blocked, blockers }) => ({
        agentProfileId: agent.id,
        reason: 'task_blockers_resolved',
        key: blockersResolvedKey(blocked.id, agent.id, blockers),
      })),
      {
        agentProfileId: overseer.id,
        reason: 'task_children_completed',
        key: childrenCompletedKey(parent.id, overseer.id, [sibling.id, task.id]),
      },
    ],
  };
}

/** What is done, by what it is called. */
export const MUTATIONS = { 'a hand-over': handedOver, 'the end of a task': finished } as const;
