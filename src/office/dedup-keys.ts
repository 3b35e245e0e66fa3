/**
 * The keys by which producers make a redelivery recognisable. Each holds a component that is equal for two deliveries
 * of one occurrence and different for two occurrences (RUN-DEDUP-1).
 */

/** One assignment: the generation that its transaction committed, carried here and never read again. */
export function assignmentKey(taskId: string, agentProfileId: string, generation: number): string {
  return `task_assigned:${taskId}:${agentProfileId}:${generation}`;
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
