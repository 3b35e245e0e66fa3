import { toIso, toIsoOrNull } from '../clock/iso.js';
import type { Token } from '../auth/token.schema.js';
import type { StoredDecision } from '../decisions/decision.schema.js';
import type { Reaction } from '../office/reactivity/reaction.js';
import type { Allowance } from '../scheduler/allowance.js';
import type { Decision } from '../scheduler/decision.js';
import type { Explanation } from '../scheduler/explanation.js';
import type { TaskBlocker } from '../tasks/task-blocker.schema.js';
import type { TaskComment } from '../tasks/task-comment.schema.js';
import type { Task, TaskParticipant } from '../tasks/task.schema.js';
import type { Workspace, WorkspacePause } from '../workspaces/workspace.schema.js';

/** How the API shows what it does not hand to agents' programs as well. */

export function viewWorkspace({ id, name, createdAt }: Workspace) {
  return { id, name, createdAt: toIso(createdAt) };
}

export function viewPause(pause: WorkspacePause) {
  return {
    id: pause.id,
    workspaceId: pause.workspaceId,
    reason: pause.reason,
    pausedBy: pause.pausedBy,
    pausedByKind: pause.pausedByKind,
    pausedAt: toIso(pause.pausedAt),
  };
}

/** Never its secret, which nobody knows any more. */
export function viewToken(token: Token) {
  return {
    id: token.id,
    kind: token.kind,
    workspaceId: token.workspaceId,
    agentProfileId: token.agentProfileId,
    name: token.name,
    subject: token.subject,
    agentProfileIds: token.agentProfileIds,
    createdAt: toIso(token.createdAt),
    expiresAt: toIsoOrNull(token.expiresAt),
  };
}

export function viewTask(task: Task) {
  return { ...task, createdAt: toIso(task.createdAt), updatedAt: toIso(task.updatedAt) };
}

export function viewParticipant({ taskId, agentProfileId, role, createdAt }: TaskParticipant) {
  return { taskId, agentProfileId, role, createdAt: toIso(createdAt) };
}

export function viewBlocker({ taskId, blockerTaskId, createdAt }: TaskBlocker) {
  return { taskId, blockerTaskId, createdAt: toIso(createdAt) };
}

export function viewComment(comment: TaskComment) {
  const { id, taskId, authorType, authorId, body, mentions, createdAt } = comment;
  return { id, taskId, authorType, authorId, body, mentions, createdAt: toIso(createdAt) };
}

export function viewDecision(decision: Decision) {
  return { ...decision, allowance: viewAllowance(decision.allowance) };
}

export function viewReaction(reaction: Reaction) {
  return { ...reaction, allowance: viewAllowance(reaction.allowance) };
}

/** Instants inside what a gate read are shown as everywhere else. */
export function viewExplanation({ outcome, error, gates }: Explanation) {
  return {
    outcome,
    error,
    gates: gates.map(({ gate, verdict, detail }) => ({
      gate,
      verdict,
      detail:
        detail?.allowance === undefined ? detail : { ...detail, allowance: viewAllowance(detail.allowance) },
    })),
  };
}

export function viewStoredDecision(decision: StoredDecision) {
  const { firstAt, lastAt, taskId } = decision;
  return {
    id: decision.id,
    at: toIso(firstAt),
    lastAt: toIso(lastAt),
    count: decision.count,
    outcome: decision.outcome,
    error: decision.error,
    gate: decision.gate,
    reason: decision.reason,
    agentProfileId: decision.agentProfileId,
    actorType: decision.actorType,
    actorId: decision.actorId,
    runId: decision.runId,
    taskId: taskId === '' ? null : taskId,
    allowance: viewAllowance(decision.allowance as Allowance | null),
  };
}

function viewAllowance(allowance: Allowance | null) {
  return allowance === null ? null : { ...allowance, retryAt: toIsoOrNull(allowance.retryAt) };
}
