import type { TaskState } from './task.schema.js';

/** The seven words into which the stored states fold, by which reactions and blockers judge a task. */
export type TaskStatus = 'backlog' | 'todo' | 'in_progress' | 'in_review' | 'blocked' | 'done' | 'cancelled';

const STATUS_OF = {
  BACKLOG: 'backlog',
  TODO: 'todo',
  CREATED: 'todo',
  SCHEDULING: 'todo',
  IN_PROGRESS: 'in_progress',
  WAITING_FOR_INPUT: 'in_progress',
  REVIEW: 'in_review',
  BLOCKED: 'blocked',
  FAILED: 'blocked',
  COMPLETED: 'done',
  CANCELLED: 'cancelled',
} as const satisfies Record<TaskState, TaskStatus>;

/** What a stored state means. */
export function statusOf(state: TaskState): TaskStatus {
  return STATUS_OF[state];
}

/** Whether nothing is left to do on a task in this state. */
export function isClosed({ state }: { readonly state: TaskState }): boolean {
  return state === 'COMPLETED' || state === 'CANCELLED';
}
