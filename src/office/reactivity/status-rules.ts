import type { WakeReason } from '../../runs/wake-reason.js';
import type { Keyless } from '../../scheduler/keyless.js';
import type { TaskParticipant } from '../../tasks/task.schema.js';
import { SEATED_ROLES } from '../../tasks/task-seats.js';
import type { TaskStatus } from '../../tasks/task-status.js';
import { reopenedKey } from '../dedup-keys.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { runContext } from '../run-context.js';
import type { Cascade, Mutation, Owed } from './mutation.js';
import type { CascadeReason } from './note.schema.js';

/** What a change of a task's status sets in motion. */
export interface StatusRule {
  readonly name: string;
  /** Whether the change is one of those that the rule speaks of. The status differs. */
  applies(from: TaskStatus, to: TaskStatus): boolean;
  /** `participants` are those of the task, read only for the rule that wants them. */
  owes(mutation: Mutation, participants: readonly TaskParticipant[]): readonly Owed[];
}

/** No wake of a status says which change it tells of, so a repeat could not be told from a redelivery. */
const BY_DESIGN: Keyless = { cause: 'by_design' };

const finished: StatusRule = {
  name: 'done',
  applies: (_from, to) => to === 'done',
  owes: (mutation) => [
    cascade('task_blockers_resolved', mutation),
    ...(mutation.after.parentId === null ? [] : [cascade('task_children_completed', mutation)]),
  ],
};

/** The turn is interrupted, as by a hand-over; nobody is woken. */
const cancelled: StatusRule = {
  name: 'cancelled',
  applies: (_from, to) => to === 'cancelled',
  owes: () => [],
};

export const INTO_REVIEW: StatusRule = {
  name: 'into review',
  applies: (_from, to) => to === 'in_review',
  owes: ({ after, actor }, participants) =>
    reviewersAmong(participants).map(({ agentProfileId, role }) => ({
      agentProfileId,
      reason: 'task_review_requested',
      payload: runContext('task_review_requested', after, actor, { role }),
      key: BY_DESIGN,
    })),
};

const unblocked: StatusRule = {
  name: 'unblocked',
  applies: (from) => from === 'blocked',
  owes: (mutation) => toAssignee('task_unblocked', mutation),
};

const reopened: StatusRule = {
  name: 'reopened',
  applies: (from, to) => (from === 'done' || from === 'cancelled') && (to === 'todo' || to === 'in_progress'),
  owes: (mutation) =>
    mutation.comment === null
      ? toAssignee('task_reopened', mutation)
      : toAssignee('task_reopened_via_comment', mutation),
};

/** In this order, and only the first that applies: a task that goes from blocked to done is not unblocked as well. */
export const STATUS_RULES: readonly StatusRule[] = [finished, cancelled, INTO_REVIEW, unblocked, reopened];

function cascade(reason: CascadeReason, { after, actor }: Mutation): Cascade {
  return { agentProfileId: null, reason, payload: runContext(reason, after, actor) };
}

function toAssignee(
  reason: Extract<WakeReason, 'task_unblocked' | 'task_reopened' | 'task_reopened_via_comment'>,
  { after, actor, comment }: Mutation,
): readonly ProducedWake[] {
  const agentProfileId = after.assigneeAgentProfileId;
  if (agentProfileId === null) return [];
  const isWritten = reason === 'task_reopened_via_comment' && comment !== null;
  const detail = isWritten ? { comment_id: comment.id } : {};
  return [
    {
      agentProfileId,
      reason,
      payload: runContext(reason, after, actor, detail),
      key: isWritten ? reopenedKey(comment.id, agentProfileId) : BY_DESIGN,
    },
  ];
}

/** Who holds both roles is asked as the first of them. */
function reviewersAmong(participants: readonly TaskParticipant[]): readonly TaskParticipant[] {
  return SEATED_ROLES.flatMap((role) => participants.filter((held) => held.role === role));
}
