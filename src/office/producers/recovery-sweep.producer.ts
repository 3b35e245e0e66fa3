import type { Keyless } from '../../scheduler/keyless.js';
import type { Task } from '../../tasks/task.schema.js';
import type { AssignmentWake } from './produced-wake.js';

/**
 * A task was found assigned and never started. Without a key on purpose: the assignment's own may have been used by a
 * run that failed, and would keep the task from starting for ever.
 */
export function wakeOnRecovery(task: Task, assignee: string): AssignmentWake & { readonly key: Keyless } {
  return {
    agentProfileId: assignee,
    reason: 'task_assigned',
    payload: { task_id: task.id },
    key: { cause: 'by_design' },
  };
}
