import type { Actor } from '../../auth/principal.js';
import type { Task } from '../../tasks/task.schema.js';
import { assignmentKey } from '../dedup-keys.js';
import type { ProducedWake } from './produced-wake.js';

/**
 * A task's assignee was written. The only producer whose payload names an actor, and so the only one that the
 * allowance binds (AC-OFFICE-ASSIGN-RATE-001.12, .13).
 */
export function wakeOnAssignment(task: Task, assignee: string, actor: Actor): ProducedWake {
  return {
    agentProfileId: assignee,
    reason: 'task_assigned',
    payload: {
      reason: 'task_assigned',
      task_id: task.id,
      workspace_id: task.workspaceId,
      actor_type: actor.type,
      ...(actor.id === '' ? {} : { actor_id: actor.id }),
    },
    idempotencyKey: assignmentKey(task.id, assignee, task.assignmentGeneration),
  };
}
