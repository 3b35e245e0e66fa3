import { isClosed } from '../../tasks/task-status.js';
import type { TaskComment } from '../../tasks/task-comment.schema.js';
import { commentKey, mentionKey } from '../dedup-keys.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { runContext } from '../run-context.js';
import type { Mutation } from './mutation.js';

/** Whom a comment wakes: the assignee of a task that is open, and everybody it mentions. Never its author. */
export function wakesOfComment(mutation: Mutation): readonly ProducedWake[] {
  const { comment } = mutation;
  if (comment === null) return [];
  const recipients = [...toAssignee(mutation, comment), ...toMentioned(mutation, comment)];
  return recipients.filter(({ agentProfileId }) => !isAuthor(agentProfileId, comment));
}

function toAssignee({ after, actor }: Mutation, comment: TaskComment): readonly ProducedWake[] {
  const agentProfileId = after.assigneeAgentProfileId;
  if (agentProfileId === null || isClosed(after)) return [];
  const payload = runContext('task_comment', after, actor, { comment_id: comment.id });
  return [{ agentProfileId, reason: 'task_comment', payload, key: commentKey(comment.id, agentProfileId) }];
}

function toMentioned({ after, actor }: Mutation, comment: TaskComment): readonly ProducedWake[] {
  const payload = runContext('task_mentioned', after, actor, { comment_id: comment.id });
  return comment.mentions.map((agentProfileId) => ({
    agentProfileId,
    reason: 'task_mentioned',
    payload,
    key: mentionKey(comment.id, agentProfileId),
  }));
}

function isAuthor(agentProfileId: string, { authorType, authorId }: TaskComment): boolean {
  return authorType === 'agent' && authorId === agentProfileId;
}
