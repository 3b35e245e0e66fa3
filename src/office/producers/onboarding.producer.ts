import type { Task } from '../../tasks/task.schema.js';
import { assignmentKey } from '../dedup-keys.js';
import type { AssignmentWake } from './produced-wake.js';

/** A coordinator was given its starter task. The task is its first assignment, whose generation is known, so it has a key. */
export function wakeOnOnboarding(task: Task, coordinator: string): AssignmentWake {
  return {
    agentProfileId: coordinator,
    reason: 'task_assigned',
    payload: { task_id: task.id },
    key: assignmentKey(task.id, coordinator, task.assignmentGeneration),
  };
}
