import { Injectable } from '@nestjs/common';
import { Dialect } from '../database/dialect.js';
import { byId, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import {
  type ParticipantRole,
  type Task,
  type TaskParticipant,
  TaskParticipantSchema,
  TaskSchema,
} from './task.schema.js';

/** Every statement over tasks and their participants. */
@Injectable()
export class TasksRepository {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  async insert(task: Task): Promise<void> {
    await this.transactions.writing().insert(TaskSchema, task);
  }

  find(id: string): Promise<Task | null> {
    return this.transactions.reading().findOneBy(TaskSchema, { id });
  }

  /** Finds the task and keeps everybody else from changing it until the transaction ends. */
  lock(id: string): Promise<Task | null> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(TaskSchema, 'task')
      .where('task.id = :id', { id });
    return this.dialect.forUpdate(query).getOne();
  }

  /** The tasks assigned to the agent, in the order of their ids, kept as by {@link lock}. */
  lockAssignedTo(agentProfileId: string): Promise<Task[]> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(TaskSchema, 'task')
      .where('task.assigneeAgentProfileId = :agentProfileId', { agentProfileId })
      .orderBy('task.id');
    return this.dialect.forUpdate(query).getMany();
  }

  /** The tasks that are parts of this one. */
  childrenOf(parentId: string): Promise<Task[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskSchema, 'task')
      .where('task.parentId = :parentId', { parentId })
      .orderBy('task.id')
      .getMany();
  }

  /** Of one workspace, or of all when it is null; by id, after the given one. */
  page(workspaceId: string | null, after: string | null, limit: number): Promise<Task[]> {
    const query = this.transactions.reading().createQueryBuilder(TaskSchema, 'task');
    return byId(onlyWhere(query, { workspaceId: workspaceId ?? undefined }), after, limit);
  }

  async update(id: string, changes: Partial<Task>): Promise<void> {
    await this.transactions.writing().update(TaskSchema, { id }, changes);
  }

  /** Moves a task that nobody has begun to IN_PROGRESS, and answers whether it was one. */
  async start(id: string, workspaceId: string, updatedAt: number): Promise<boolean> {
    const result = await this.transactions
      .writing()
      .update(TaskSchema, { id, workspaceId, state: 'TODO' }, { state: 'IN_PROGRESS', updatedAt });
    return result.affected === 1;
  }

  participants(taskId: string): Promise<TaskParticipant[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskParticipantSchema, 'participant')
      .where('participant.taskId = :taskId', { taskId })
      .orderBy('participant.agentProfileId')
      .addOrderBy('participant.role')
      .getMany();
  }

  /** Adds the role, or leaves it where it is held already, and answers it as it stands. */
  async addParticipant(participant: TaskParticipant): Promise<TaskParticipant> {
    const manager = this.transactions.writing();
    const insert = manager.createQueryBuilder().insert().into(TaskParticipantSchema).values(participant);
    await insert.orIgnore().execute();
    const { taskId, agentProfileId, role } = participant;
    return manager.findOneByOrFail(TaskParticipantSchema, { taskId, agentProfileId, role });
  }

  /** Removes every role that the agent holds on any task. */
  async removeParticipations(agentProfileId: string): Promise<void> {
    await this.transactions.writing().delete(TaskParticipantSchema, { agentProfileId });
  }

  /** Removes one role, or all of them when it is null. */
  async removeParticipant(
    taskId: string,
    agentProfileId: string,
    role: ParticipantRole | null,
  ): Promise<void> {
    await this.transactions
      .writing()
      .delete(TaskParticipantSchema, { taskId, agentProfileId, ...(role === null ? {} : { role }) });
  }
}
