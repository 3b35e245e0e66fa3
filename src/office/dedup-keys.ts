import { createHash } from 'node:crypto';

/**
 * The keys by which producers and reactions make a redelivery recognisable. Each holds a component that is equal for
 * two deliveries of one occurrence and different for two occurrences (RUN-DEDUP-1).
 */

/** One assignment: the generation that its transaction committed, carried here and never read again. */
export function assignmentKey(taskId: string, agentProfileId: string, generation: number): string {
  return `task_assigned:${taskId}:${agentProfileId}:${generation}`;
}

/** One move of a task to a step of its workflow. */
export function autoStartKey(
  taskId: string,
  agentProfileId: string,
  stepId: string,
  stepTransitionId: string,
): string {
  return `task_assigned:${taskId}:${agentProfileId}:${stepId}:${stepTransitionId}`;
}

/** A set of blockers, all done. The same set resolved once more is the same occurrence. */
export function blockersResolvedKey(
  taskId: string,
  agentProfileId: string,
  blockerIds: readonly string[],
): string {
  return `task_blockers_resolved:${taskId}:${agentProfileId}:${digestOf(blockerIds)}`;
}

/** A set of parts, none of which has anything left to do. How each of them ended is no part of it. */
export function childrenCompletedKey(
  parentId: string,
  agentProfileId: string,
  childIds: readonly string[],
): string {
  return `task_children_completed:${parentId}:${agentProfileId}:${digestOf(childIds)}`;
}

/** One comment, for the task's assignee. Wakes with such a key are never merged. */
export function commentKey(commentId: string, agentProfileId: string): string {
  return `task_comment:${commentId}:${agentProfileId}`;
}

/** One comment, for an agent that it mentions. */
export function mentionKey(commentId: string, agentProfileId: string): string {
  return `task_mentioned:${commentId}:${agentProfileId}`;
}

/** A task reopened by what somebody wrote. */
export function reopenedKey(commentId: string, agentProfileId: string): string {
  return `task_reopened_via_comment:${commentId}:${agentProfileId}`;
}

/** One run that has failed for good, for the coordinator who is to hear of it. */
export function agentErrorKey(runId: string, coordinatorId: string): string {
  return `agent_error:${runId}:${coordinatorId}`;
}

/** Equal for equal sets, in whatever order they were read: the ids sorted by their bytes, joined by commas, hashed. */
function digestOf(ids: readonly string[]): string {
  const sorted = ids.map((id) => Buffer.from(id)).sort((one, other) => Buffer.compare(one, other));
  return createHash('sha256').update(sorted.join(',')).digest('hex');
}

/** How the keys of producers begin. Only an administrator may send such a key from outside. */
const PRODUCER_PREFIXES = [
  'task_assigned:',
  'task_blockers_resolved:',
  'task_children_completed:',
  'task_comment:',
  'task_mentioned:',
  'task_reopened_via_comment:',
  'approval_resolved:',
  'approval:',
  'decision:',
  'agent_error:',
  'step_entry:',
  'heartbeat:',
] as const;

/** Whether a key has the shape of one that a producer derives. */
export function isProducerKey(key: string): boolean {
  return PRODUCER_PREFIXES.some((prefix) => key.startsWith(prefix));
}
