import { Injectable } from '@nestjs/common';
import { byId } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { type TaskComment, TaskCommentSchema } from './task-comment.schema.js';

/** Every statement over comments. Their ids grow with time, so by id is oldest first. */
@Injectable()
export class CommentsRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(comment: TaskComment): Promise<void> {
    await this.transactions.writing().insert(TaskCommentSchema, comment);
  }

  /** The task's comments, oldest first, after the given one. */
  page(taskId: string, after: string | null, limit: number): Promise<TaskComment[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(TaskCommentSchema, 'comment')
      .where('comment.taskId = :taskId', { taskId });
    return byId(query, after, limit);
  }
}
