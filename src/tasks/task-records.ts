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

  /** Every writing of the assignee is an assignment of its own, also of the same agent and of nobody. */
  async change(before: Task, changes: TaskChanges): Promise<Task> {
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
    await this.tell('task.updated', after);
    return after;
  }

  /** Work on the task has begun: one that nobody had begun is IN_PROGRESS from now on. */
  async start(id: string, workspaceId: string): Promise<void> {
    if (!(await this.tasks.start(id, workspaceId, this.clock.now()))) return;
    const task = await this.tasks.find(id);
    if (task !== null) await this.tell('task.updated', task);
  }

  private tell(type: 'task.created' | 'task.updated', task: Task): Promise<void> {
    const { workspaceId, state, assigneeAgentProfileId, assignmentGeneration } = task;
    const data = { state, assigneeAgentProfileId, assignmentGeneration };
    return this.events.append({ type, workspaceId, subject: { taskId: task.id }, data });
  }
}
