import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { type TaskBlocker, TaskBlockerSchema } from './task-blocker.schema.js';
import { type Task, TaskSchema } from './task.schema.js';

/** Every statement over which tasks wait for which. */
@Injectable()
export class BlockersRepository {
  constructor(private readonly transactions: Transactions) {}

  /** Adds the blocker, or leaves it where it stands already. */
  async add(blocker: TaskBlocker): Promise<void> {
    await this.transactions.writing().upsert(TaskBlockerSchema, blocker, {
      conflictPaths: ['taskId', 'blockerTaskId'],
      skipUpdateIfNoValuesChanged: true,
    });
  }

  async remove(taskId: string, blockerTaskId: string): Promise<void> {
    await this.transactions.writing().delete(TaskBlockerSchema, { taskId, blockerTaskId });
  }

  find(taskId: string, blockerTaskId: string): Promise<TaskBlocker | null> {
    return this.transactions.reading().findOneBy(TaskBlockerSchema, { taskId, blockerTaskId });
  }

  /** What each of the tasks waits for, by id. */
  ofTasks(taskIds: readonly string[]): Promise<TaskBlocker[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskBlockerSchema, 'blocker')
      .where('blocker.taskId IN (:...taskIds)', { taskIds })
      .orderBy('blocker.taskId')
      .addOrderBy('blocker.blockerTaskId')
      .getMany();
  }

  /** The tasks for which this one waits. */
  blockersOf(taskId: string): Promise<Task[]> {
    return this.joined('blocker.blocker_task_id = task.id AND blocker.task_id = :taskId', taskId);
  }

  /** The tasks that wait for this one. */
  blockedBy(taskId: string): Promise<Task[]> {
    return this.joined('blocker.task_id = task.id AND blocker.blocker_task_id = :taskId', taskId);
  }

  private joined(condition: string, taskId: string): Promise<Task[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskSchema, 'task')
      .innerJoin(TaskBlockerSchema.options.name, 'blocker', condition, { taskId })
      .orderBy('task.id')
      .getMany();
  }
}
