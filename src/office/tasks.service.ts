import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import type { Actor } from '../auth/principal.js';
import { Dialect, primaryKeyOf } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { ForbiddenError, IdTakenError, NotFoundError } from '../errors/reveille-error.js';
import { type TaskChanges, type TaskInput, TaskRecords } from '../tasks/task-records.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { Handover } from './handover.js';
import { wakeOnAssignment } from './producers/assignment-mutation.producer.js';
import { wakeOnCreation } from './producers/task-lifecycle.producer.js';
import type { Reaction } from './reactivity/reaction.js';
import { Reactivity } from './reactivity/reactivity.service.js';

export interface TaskCreation {
  readonly task: Task;
  readonly reactions: readonly Reaction[];
}

export interface TaskUpdate extends TaskCreation {
  /** The previous assignee's live session, when somebody else takes the task over. */
  readonly interruptedSessionId: string | null;
}

/** Nobody in particular: a caller inside the process, who counts as a person (AC-OFFICE-ASSIGN-RATE-001.1). */
const SOMEBODY: Actor = { type: 'user', id: '' };

/** Tasks, and what changing them sets in motion. */
@Injectable()
export class TasksService {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly repository: TasksRepository,
    private readonly records: TaskRecords,
    private readonly agents: AgentsRepository,
    private readonly workspaces: WorkspacesService,
    private readonly reactivity: Reactivity,
    private readonly handover: Handover,
  ) {}

  /** @throws NotFoundError for an unknown workspace, parent or assignee; IdTakenError. */
  async create(input: TaskInput): Promise<TaskCreation> {
    await this.workspaces.get(input.workspaceId);
    const { task, notes } = await this.insert(input);
    return { task, reactions: await this.reactivity.carryOut(notes) };
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
  assign(id: string, assigneeAgentProfileId: string | null, actor: Actor = SOMEBODY): Promise<TaskUpdate> {
    return this.update(id, { assigneeAgentProfileId }, actor);
  }

  /**
   * Changes a task in one transaction with what it owes: the events, the hand-over, the notes of the wakes. The wakes
   * are decided after the commit, and nothing of the change depends on how.
   *
   * @throws NotFoundError, or ForbiddenError when the agent who acts may not assign.
   */
  async update(id: string, changes: TaskChanges, actor: Actor = SOMEBODY): Promise<TaskUpdate> {
    const { task, notes, interruptedSessionId } = await this.transactions.run(async () => {
      const before = await this.repository.lock(id);
      if (before === null) throw new NotFoundError('task');
      await this.permit(changes, actor, before.workspaceId);
      const after = await this.records.change(before, changes);
      const assignee = changes.assigneeAgentProfileId ?? null;
      const wakes = assignee === null ? [] : [wakeOnAssignment(after, assignee, actor)];
      return {
        task: after,
        interruptedSessionId: await this.handover.from(before, after),
        notes: await this.reactivity.note(after, wakes),
      };
    });
    return { task, reactions: await this.reactivity.carryOut(notes), interruptedSessionId };
  }

  private async insert(input: TaskInput) {
    const { workspaceId, parentId = null, assigneeAgentProfileId: assignee = null } = input;
    try {
      return await this.transactions.run(async () => {
        if (assignee !== null) await this.requireAgent(assignee, workspaceId);
        if (parentId !== null) await this.requireTask(parentId, workspaceId);
        const task = await this.records.insert(input);
        const wakes = assignee !== null && task.kind === 'office' ? [wakeOnCreation(task, assignee)] : [];
        return { task, notes: await this.reactivity.note(task, wakes) };
      });
    } catch (error) {
      throw this.dialect.violates(error, primaryKeyOf('tasks'))
        ? new IdTakenError('task', { cause: error })
        : error;
    }
  }

  private async permit(changes: TaskChanges, actor: Actor, workspaceId: string): Promise<void> {
    const { assigneeAgentProfileId: assignee } = changes;
    if (assignee === undefined) return;
    if (actor.type === 'agent' && (await this.agents.find(actor.id))?.canAssignTasks !== true) {
      throw new ForbiddenError('This agent may not assign tasks.');
    }
    if (assignee !== null) await this.requireAgent(assignee, workspaceId);
  }

  private async requireAgent(id: string, workspaceId: string): Promise<void> {
    if ((await this.agents.find(id))?.workspaceId !== workspaceId) throw new NotFoundError('agent');
  }

  private async requireTask(id: string, workspaceId: string): Promise<void> {
    if ((await this.repository.find(id))?.workspaceId !== workspaceId) throw new NotFoundError('parent task');
  }
}
