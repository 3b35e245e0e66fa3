import { EntitySchema } from 'typeorm';
import { instant, json, text } from '../database/columns.js';

/** What somebody wrote about a task. */
export interface TaskComment {
  readonly id: string;
  readonly workspaceId: string;
  readonly taskId: string;
  readonly authorType: 'user' | 'agent';
  /** Empty for a caller inside the process who did not say. */
  readonly authorId: string;
  readonly body: string;
  /** The agents that it calls by name. */
  readonly mentions: readonly string[];
  readonly createdAt: number;
}

export const TaskCommentSchema = new EntitySchema<TaskComment>({
  name: 'task_comments',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    taskId: text('task_id'),
    authorType: text('author_type'),
    authorId: text('author_id'),
    body: text('body'),
    mentions: json('mentions'),
    createdAt: instant('created_at'),
  },
  indices: [{ name: 'task_comments_task', columns: ['taskId', 'id'] }],
});
