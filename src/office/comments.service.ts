import { Injectable } from '@nestjs/common';
import type { Actor } from '../auth/principal.js';
import type { CommentInput } from '../tasks/comment-records.js';
import { CommentsRepository } from '../tasks/comments.repository.js';
import type { TaskComment } from '../tasks/task-comment.schema.js';
import type { Reaction } from './reactivity/reaction.js';
import { TaskMutations } from './task-mutations.js';

/** What people and agents write about tasks. */
@Injectable()
export class CommentsService {
  constructor(
    private readonly mutations: TaskMutations,
    private readonly repository: CommentsRepository,
  ) {}

  /** @throws NotFoundError for an unknown task, or a mentioned agent that is not of its workspace. */
  async add(
    taskId: string,
    input: CommentInput,
    author: Actor,
  ): Promise<{ comment: TaskComment; reactions: readonly Reaction[] }> {
    const { comment, reactions } = await this.mutations.apply(taskId, { comment: input }, author);
    return { comment, reactions };
  }

  /** Oldest first. */
  list(taskId: string, after: string | null, limit: number): Promise<readonly TaskComment[]> {
    return this.repository.page(taskId, after, limit);
  }
}
