import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Ids } from '../random/ids.js';
import { CommentsRepository } from './comments.repository.js';
import type { TaskComment } from './task-comment.schema.js';
import type { Task } from './task.schema.js';

/** What somebody writes about a task. */
export interface CommentInput {
  readonly body: string;
  /** The agents it calls by name, of the task's workspace. Default: none. */
  readonly mentions?: readonly string[] | undefined;
}

/** Writes comments, in the open transaction. */
@Injectable()
export class CommentRecords {
  constructor(
    private readonly comments: CommentsRepository,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  async insert(
    task: Task,
    { body, mentions = [] }: CommentInput,
    author: { readonly type: TaskComment['authorType']; readonly id: string },
  ): Promise<TaskComment> {
    const comment: TaskComment = {
      id: this.ids.next(),
      workspaceId: task.workspaceId,
      taskId: task.id,
      authorType: author.type,
      authorId: author.id,
      body,
      mentions: [...new Set(mentions)],
      createdAt: this.clock.now(),
    };
    await this.comments.insert(comment);
    return comment;
  }
}
