import type { Task } from '../../tasks/task.schema.js';
import { assignmentKey } from '../dedup-keys.js';
import type { AssignmentWake } from './produced-wake.js';

/** A task was created with an assignee. A fresh task has a fresh allowance, so the payload names no actor. */
export function wakeOnCreation(task: Task, assignee: string): AssignmentWake {
  return {
    agentProfileId: assignee,
    reason: 'task_assigned',
    payload: { task_id: task.id },
    key: assignmentKey(task.id, assignee, task.assignmentGeneration),
  };
}
