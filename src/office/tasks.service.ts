import { Injectable } from '@nestjs/common';
import type { Actor } from '../auth/principal.js';
import { NotFoundError } from '../errors/reveille-error.js';
import type { TaskInput } from '../tasks/task-records.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { type TaskCreation, TaskCreations } from './task-creations.js';
import { type MutationInput, type MutationResult, TaskMutations } from './task-mutations.js';

/** Nobody in particular: a caller inside the process, who counts as a person (AC-OFFICE-ASSIGN-RATE-001.1). */
const SOMEBODY: Actor = { type: 'user', id: '' };

/** Tasks, and what changing them sets in motion. */
@Injectable()
export class TasksService {
  constructor(
    private readonly repository: TasksRepository,
    private readonly creations: TaskCreations,
    private readonly mutations: TaskMutations,
  ) {}

  /** @throws NotFoundError for an unknown workspace, parent or assignee; IdTakenError. */
  create(input: TaskInput): Promise<TaskCreation> {
    return this.creations.create(input);
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Task> {
    const task = await this.repository.find(id);
    if (task === null) throw new NotFoundError('task');
    return task;
  }

  list(workspaceId: string | null, after: string | null, limit: number): Promise<readonly Task[]> {
    return this.repository.page(workspaceId, after, limit);
  }

  /** Gives the task to an agent, or to nobody. */
  assign(
    id: string,
    assigneeAgentProfileId: string | null,
    actor: Actor = SOMEBODY,
  ): Promise<MutationResult> {
    return this.update(id, { assigneeAgentProfileId }, actor);
  }

  /** @throws NotFoundError, or ForbiddenError when the agent who acts may not assign. */
  update(id: string, changes: MutationInput, actor: Actor = SOMEBODY): Promise<MutationResult> {
    return this.mutations.apply(id, changes, actor);
  }
}
