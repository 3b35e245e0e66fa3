import type { Actor } from '../../auth/principal.js';
import type { Task } from '../../tasks/task.schema.js';
import { assignmentKey } from '../dedup-keys.js';
import { runContext } from '../run-context.js';
import type { AssignmentWake } from './produced-wake.js';

/**
 * A task's assignee was written. The only producer whose payload names an actor, and so the only one that the
 * allowance binds (AC-OFFICE-ASSIGN-RATE-001.12, .13).
 */
export function wakeOnAssignment(task: Task, assignee: string, actor: Actor): AssignmentWake {
  return {
    agentProfileId: assignee,
    reason: 'task_assigned',
    payload: runContext('task_assigned', task, actor),
    key: assignmentKey(task.id, assignee, task.assignmentGeneration),
  };
}
