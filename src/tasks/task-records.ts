import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { EventLog } from '../events/event-log.js';
import { Ids } from '../random/ids.js';
import type { Task } from './task.schema.js';
import { TasksRepository } from './tasks.repository.js';

/** What can be said about a new task. */
export type TaskInput = Pick<Task, 'workspaceId' | 'title' | 'kind'> & {
  readonly [K in 'id' | 'state' | 'priority' | 'parentId' | 'assigneeAgentProfileId']?: Task[K] | undefined;
};

/** What a mutation changes; what is left out stays. An assignee that is written again counts as a new assignment. */
export type TaskChanges = {
  readonly [K in 'title' | 'state' | 'priority' | 'assigneeAgentProfileId']?: Task[K] | undefined;
};

/** Writes tasks together with the events that tell of it, in the open transaction. */
@Injectable()
export class TaskRecords {
  constructor(
    private readonly tasks: TasksRepository,
    private readonly events: EventLog,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  async insert(input: TaskInput): Promise<Task> {
    const now = this.clock.now();
    const assigneeAgentProfileId = input.assigneeAgentProfileId ?? null;
    const task: Task = {
      id: input.id ?? this.ids.next(),
      workspaceId: input.workspaceId,
      title: input.title,
      kind: input.kind,
      state: input.state ?? 'TODO',
      priority: input.priority ?? 'medium',
      parentId: input.parentId ?? null,
      assigneeAgentProfileId,
      assignmentGeneration: assigneeAgentProfileId === null ? 0 : 1,
      createdAt: now,
      updatedAt: now,
    };
    await this.tasks.insert(task);
    await this.tell('task.created', task);
    return task;
  }

  /**
   * Every writing of the assignee is an assignment of its own, also of the same agent and of nobody. A comment that
   * comes along is told of in the same event.
   */
  async change(before: Task, changes: TaskChanges, commentId: string | null = null): Promise<Task> {
    const { title, state, priority, assigneeAgentProfileId } = changes;
    const after: Task = {
      ...before,
      title: title ?? before.title,
      state: state ?? before.state,
      priority: priority ?? before.priority,
      ...(assigneeAgentProfileId === undefined
        ? {}
        : { assigneeAgentProfileId, assignmentGeneration: before.assignmentGeneration + 1 }),
      updatedAt: this.clock.now(),
    };
    await this.tasks.update(before.id, after);
    await this.tell('task.updated', after, commentId);
    return after;
  }

  /** Somebody has written about the task, and changed nothing else. */
  commented(task: Task, commentId: string): Promise<void> {
    return this.tell('task.updated', task, commentId);
  }

  /**
   * Takes an agent out of every task: its tasks are nobody's, which is an assignment of each, and its roles are void.
   * Answers the ids of the tasks that it had.
   */
  async removeAgent(agentProfileId: string): Promise<readonly string[]> {
    const tasks = await this.tasks.lockAssignedTo(agentProfileId);
    for (const task of tasks) await this.change(task, { assigneeAgentProfileId: null });
    await this.tasks.removeParticipations(agentProfileId);
    return tasks.map(({ id }) => id);
  }

  /** Work on the task has begun: one that nobody had begun is IN_PROGRESS from now on. */
  async start(id: string, workspaceId: string): Promise<void> {
    if (!(await this.tasks.start(id, workspaceId, this.clock.now()))) return;
    const task = await this.tasks.find(id);
    if (task !== null) await this.tell('task.updated', task);
  }

  private tell(
    type: 'task.created' | 'task.updated',
    task: Task,
    commentId: string | null = null,
  ): Promise<void> {
    const { workspaceId, state, assigneeAgentProfileId, assignmentGeneration } = task;
    const data = {
      state,
      assigneeAgentProfileId,
      assignmentGeneration,
      ...(commentId === null ? {} : { commentId }),
    };
    return this.events.append({ type, workspaceId, subject: { taskId: task.id }, data });
  }
}
