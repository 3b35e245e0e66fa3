import type { Actor } from '../../auth/principal.js';
import type { TaskComment } from '../../tasks/task-comment.schema.js';
import type { Task } from '../../tasks/task.schema.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import type { CascadeReason } from './note.schema.js';

/** What somebody did to a task. */
export interface Mutation {
  readonly before: Task;
  readonly after: Task;
  /** Whether the assignee was written, if only with the same agent again. */
  readonly isAssignment: boolean;
  readonly comment: TaskComment | null;
  readonly actor: Actor;
}

/**
 * Wakes whose recipients can only be found once the mutation has committed: of two tasks that are finished at the same
 * moment, each would otherwise see the other still open, and nobody would be woken.
 */
export interface Cascade {
  readonly agentProfileId: null;
  readonly reason: CascadeReason;
  /** What is known already: who acted, and on which task. */
  readonly payload: Readonly<Record<string, string>>;
}

/** What a mutation owes to somebody. */
export type Owed = ProducedWake | Cascade;
