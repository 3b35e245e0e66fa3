/** The reasons that Reveille itself knows. Agents and workflows may invent others. */
export const WAKE_REASONS = [
  'task_assigned',
  'task_comment',
  'task_mentioned',
  'task_blockers_resolved',
  'task_children_completed',
  'task_unblocked',
  'task_reopened',
  'task_reopened_via_comment',
  'task_review_requested',
  'task_changes_requested',
  'task_ready_to_close',
  'stage_pending',
  'stage_changes_requested',
  'approval_resolved',
  'agent_error',
  'budget_alert',
  'heartbeat',
  'queue_run',
  'routine_trigger',
  'routine_dispatch',
  'routine_dispatch_cron',
  'routine_dispatch_event',
  'manual_resume_after_failure',
  'review_started',
  'approval_started',
  'blockers_resolved',
  'children_completed',
] as const;

export type WakeReason = (typeof WAKE_REASONS)[number];

/** Every value of a metric's `reason` label: what somebody invented counts as `custom`. */
export const REASON_LABELS = [...WAKE_REASONS, 'custom'] as const;

export type ReasonLabel = (typeof REASON_LABELS)[number];

const KNOWN: ReadonlySet<string> = new Set(WAKE_REASONS);

/** The label under which a reason is counted. */
export function reasonLabel(reason: string): ReasonLabel {
  return KNOWN.has(reason) ? (reason as WakeReason) : 'custom';
}

/** Wakes that speak to a task's assignee, and mean nothing to an agent that is it no longer. */
const TO_THE_ASSIGNEE: ReadonlySet<string> = new Set<WakeReason>([
  'task_assigned',
  'task_comment',
  'task_unblocked',
  'task_reopened',
  'task_reopened_via_comment',
  'task_blockers_resolved',
  'task_children_completed',
]);

/** Whether a wake for this reason is only for the task's assignee. */
export function speaksToAssignee(reason: string): boolean {
  return TO_THE_ASSIGNEE.has(reason);
}

/** Whether a wake for this reason is about something that no other of its kind stands for: each comment is heard. */
export function isHeardByItself(reason: string): boolean {
  return reason === ('task_comment' satisfies WakeReason);
}
