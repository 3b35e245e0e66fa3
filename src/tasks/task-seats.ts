import type { ParticipantRole, Task, TaskParticipant } from './task.schema.js';

/** The roles that take part in the work: a watcher only looks on. */
export const SEATED_ROLES: readonly ParticipantRole[] = ['reviewer', 'approver'];

/** Whether an agent still takes part in a task: as its assignee, reviewer or approver. */
export function holdsSeat(
  agentProfileId: string,
  task: Task,
  participants: readonly TaskParticipant[],
): boolean {
  return (
    task.assigneeAgentProfileId === agentProfileId ||
    participants.some((held) => held.agentProfileId === agentProfileId && SEATED_ROLES.includes(held.role))
  );
}
