import type { Actor } from '../auth/principal.js';
import type { WakeReason } from '../runs/wake-reason.js';
import type { Task } from '../tasks/task.schema.js';

/** What a reaction adds to the payload beside what every one tells. */
export type ContextDetail = Readonly<
  Partial<Record<'comment_id' | 'resolved_blocker_task_id' | 'child_task_id' | 'role', string>>
>;

/** The payload of a wake that a mutation asks for: why, about which task, and who acted. What is unknown is left out. */
export function runContext(
  reason: WakeReason,
  task: Pick<Task, 'id' | 'workspaceId'>,
  actor: Actor,
  detail: ContextDetail = {},
): Readonly<Record<string, string>> {
  return {
    reason,
    task_id: task.id,
    workspace_id: task.workspaceId,
    actor_type: actor.type,
    ...(actor.id === '' ? {} : { actor_id: actor.id }),
    ...detail,
  };
}
