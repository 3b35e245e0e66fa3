import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { type TaskBlocker, TaskBlockerSchema } from './task-blocker.schema.js';
import { type Task, TaskSchema } from './task.schema.js';

/** Every statement over which tasks wait for which. */
@Injectable()
export class BlockersRepository {
  constructor(private readonly transactions: Transactions) {}

  /** Adds the blocker, or leaves it where it is already, and answers it as it stands. */
  async add(blocker: TaskBlocker): Promise<TaskBlocker> {
    const manager = this.transactions.writing();
    await manager.createQueryBuilder().insert().into(TaskBlockerSchema).values(blocker).orIgnore().execute();
    const { taskId, blockerTaskId } = blocker;
    return manager.findOneByOrFail(TaskBlockerSchema, { taskId, blockerTaskId });
  }

  async remove(taskId: string, blockerTaskId: string): Promise<void> {
    await this.transactions.writing().delete(TaskBlockerSchema, { taskId, blockerTaskId });
  }

  /** What the task waits for, by id. */
  ofTask(taskId: string): Promise<TaskBlocker[]> {
    return this.transactions
      .reading()
      .find(TaskBlockerSchema, { where: { taskId }, order: { blockerTaskId: 'ASC' } });
  }

  /** What the task waits for, what that waits for, and so on. */
  allBehind(taskId: string): Promise<TaskBlocker[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskBlockerSchema, 'blocker')
      .addCommonTableExpression(
        'SELECT task_id FROM task_blockers WHERE task_id = :taskId UNION SELECT next.blocker_task_id FROM task_blockers next JOIN behind ON next.task_id = behind.id',
        'behind',
        { recursive: true, columnNames: ['id'] },
      )
      .innerJoin('behind', 'behind', 'behind.id = blocker.task_id')
      .setParameters({ taskId })
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
