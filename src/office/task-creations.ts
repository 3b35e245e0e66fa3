import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Dialect, primaryKeyOf } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { IdTakenError, NotFoundError } from '../errors/reveille-error.js';
import { type TaskInput, TaskRecords } from '../tasks/task-records.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { ASSIGNMENT_PRODUCERS } from './producers/producers.js';
import type { Note } from './reactivity/note.schema.js';
import { NoteBook } from './reactivity/note-book.js';
import type { Reaction } from './reactivity/reaction.js';
import { Reactivity } from './reactivity/reactivity.service.js';

export interface TaskCreation {
  readonly task: Task;
  readonly reactions: readonly Reaction[];
}

/** Creates tasks, and wakes those who are given an office task from the start. */
@Injectable()
export class TaskCreations {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly tasks: TasksRepository,
    private readonly records: TaskRecords,
    private readonly agents: AgentsRepository,
    private readonly workspaces: WorkspacesService,
    private readonly book: NoteBook,
    private readonly reactivity: Reactivity,
  ) {}

  /** @throws NotFoundError for an unknown workspace, parent or assignee; IdTakenError. */
  async create(input: TaskInput): Promise<TaskCreation> {
    await this.workspaces.get(input.workspaceId);
    const { task, notes } = await this.insert(input);
    return { task, reactions: await this.reactivity.carryOut(notes) };
  }

  private async insert(input: TaskInput): Promise<{ task: Task; notes: readonly Note[] }> {
    const { workspaceId, parentId = null, assigneeAgentProfileId: assignee = null } = input;
    try {
      return await this.transactions.run(async () => {
        if (assignee !== null) await this.requireAgent(assignee, workspaceId);
        if (parentId !== null) await this.requireTask(parentId, workspaceId);
        const task = await this.records.insert(input);
        const isWoken = assignee !== null && task.kind === 'office';
        const wakes = isWoken ? [ASSIGNMENT_PRODUCERS.taskLifecycle(task, assignee)] : [];
        return { task, notes: await this.book.write(task, wakes) };
      });
    } catch (error) {
      throw this.dialect.violates(error, primaryKeyOf('tasks'))
        ? new IdTakenError('task', { cause: error })
        : error;
    }
  }

  private async requireAgent(id: string, workspaceId: string): Promise<void> {
    if ((await this.agents.keep(id))?.workspaceId !== workspaceId) throw new NotFoundError('agent');
  }

  private async requireTask(id: string, workspaceId: string): Promise<void> {
    if ((await this.tasks.find(id))?.workspaceId !== workspaceId) throw new NotFoundError('parent task');
  }
}
