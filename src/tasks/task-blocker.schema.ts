import { EntitySchema } from 'typeorm';
import { instant, text } from '../database/columns.js';

/** One task waits for another. */
export interface TaskBlocker {
  readonly taskId: string;
  /** The task that must be done first. */
  readonly blockerTaskId: string;
  readonly workspaceId: string;
  readonly createdAt: number;
}

export const TaskBlockerSchema = new EntitySchema<TaskBlocker>({
  name: 'task_blockers',
  columns: {
    taskId: text('task_id', { primary: true }),
    blockerTaskId: text('blocker_task_id', { primary: true }),
    workspaceId: text('workspace_id'),
    createdAt: instant('created_at'),
  },
  indices: [{ name: 'task_blockers_blocker', columns: ['blockerTaskId'] }],
});
