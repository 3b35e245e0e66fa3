import { createHash } from 'node:crypto';
import type { ParticipantRole, TaskKind, TaskState } from '../../src/tasks/task.schema.js';

/** What a mutation wakes, as the specification tells it, of tasks and agents that are nothing but values. */

export interface ModelTask {
  readonly id: string;
  readonly kind: TaskKind;
  readonly parentId: string | null;
  readonly createdAt: number;
  state: TaskState;
  assignee: number | null;
  generation: number;
  updatedAt: number;
  participants: readonly { readonly agent: number; readonly role: ParticipantRole }[];
  blockers: readonly string[];
}

export interface ModelActor {
  readonly type: 'user' | 'agent';
  readonly id: string;
}

/** Null for a set of recipients that is found only once the mutation has committed. */
export interface Owed {
  readonly agent: number | null;
  readonly reason: string;
  readonly payload: Readonly<Record<string, string>>;
  readonly key: string | null;
}

export interface Mutated {
  readonly before: ModelTask;
  readonly after: ModelTask;
  readonly isAssignment: boolean;
  readonly comment: { readonly id: string; readonly mentions: readonly number[] } | null;
  readonly actor: ModelActor;
}

const WORDS: Record<TaskState, string> = {
  TODO: 'todo',
  CREATED: 'todo',
  SCHEDULING: 'todo',
  IN_PROGRESS: 'in_progress',
  WAITING_FOR_INPUT: 'in_progress',
  REVIEW: 'in_review',
  BLOCKED: 'blocked',
  FAILED: 'blocked',
  COMPLETED: 'done',
  CANCELLED: 'cancelled',
  BACKLOG: 'backlog',
};

/** The words that say that there is something to do again. */
const REOPENED = ['todo', 'in_progress'];

export const isClosed = ({ state }: ModelTask): boolean => state === 'COMPLETED' || state === 'CANCELLED';

/** The rules by the names that agents have outside, which stand in keys and payloads. */
export class OfficeRules {
  constructor(
    private readonly workspaceId: string,
    private readonly agents: readonly string[],
  ) {}

  /** By the status, then the assignee, then the comment; nobody twice for one reason. */
  owedBy(mutated: Mutated): readonly Owed[] {
    const owed = [...this.byStatus(mutated), ...this.byAssignee(mutated), ...this.byComment(mutated)];
    return owed.filter(
      ({ agent, reason }, place) =>
        owed.findIndex((other) => other.agent === agent && other.reason === reason) === place,
    );
  }

  assignmentKey({ id, generation }: ModelTask, agent: number): string {
    return `task_assigned:${id}:${this.name(agent)}:${generation}`;
  }

  /** The end of the task is told to whoever waits for it; what the note says of who ended it is passed on. */
  resolved(task: ModelTask, agent: number, blockerId: string, actor: ModelActor): Owed {
    const key = `task_blockers_resolved:${task.id}:${this.name(agent)}:${digest(task.blockers)}`;
    return this.wake(agent, 'task_blockers_resolved', {
      task,
      actor,
      detail: { resolved_blocker_task_id: blockerId },
      key,
    });
  }

  completed(
    task: ModelTask,
    agent: number,
    children: readonly string[],
    { last, actor }: { readonly last: string; readonly actor: ModelActor },
  ): Owed {
    const key = `task_children_completed:${task.id}:${this.name(agent)}:${digest(children)}`;
    return this.wake(agent, 'task_children_completed', { task, actor, detail: { child_task_id: last }, key });
  }

  /** The first that matches is the only one. */
  private byStatus(mutated: Mutated): readonly Owed[] {
    const [from, to] = [WORDS[mutated.before.state], WORDS[mutated.after.state]];
    if (from === to || to === 'cancelled') return [];
    if (to === 'done') return this.ended(mutated);
    if (to === 'in_review') return this.reviews(mutated);
    if (from === 'blocked') return this.toAssignee('task_unblocked', mutated);
    return isClosed(mutated.before) && REOPENED.includes(to) ? this.reopened(mutated) : [];
  }

  private ended({ after: task, actor }: Mutated): readonly Owed[] {
    const toParent = task.parentId === null ? [] : ['task_children_completed'];
    return ['task_blockers_resolved', ...toParent].map((reason) => this.wake(null, reason, { task, actor }));
  }

  private reviews({ after: task, actor }: Mutated): readonly Owed[] {
    return (['reviewer', 'approver'] as const).flatMap((role) =>
      task.participants
        .filter((held) => held.role === role)
        .map(({ agent }) => agent)
        .sort()
        .map((agent) => this.wake(agent, 'task_review_requested', { task, actor, detail: { role } })),
    );
  }

  /** Silently, or by what somebody wrote: that occurrence has a name. */
  private reopened(mutated: Mutated): readonly Owed[] {
    const { after, comment } = mutated;
    if (comment === null) return this.toAssignee('task_reopened', mutated);
    const { assignee } = after;
    const key = assignee === null ? null : `task_reopened_via_comment:${comment.id}:${this.name(assignee)}`;
    return this.toAssignee('task_reopened_via_comment', mutated, key, { comment_id: comment.id });
  }

  private byAssignee(mutated: Mutated): readonly Owed[] {
    const { after, isAssignment } = mutated;
    if (!isAssignment || after.assignee === null) return [];
    return this.toAssignee('task_assigned', mutated, this.assignmentKey(after, after.assignee));
  }

  /** Never its author; the assignee only while the task is open. */
  private byComment(mutated: Mutated): readonly Owed[] {
    const { after: task, comment, actor } = mutated;
    if (comment === null) return [];
    const told = (agent: number, reason: string): Owed =>
      this.wake(agent, reason, {
        task,
        actor,
        detail: { comment_id: comment.id },
        key: `${reason}:${comment.id}:${this.name(agent)}`,
      });
    const toAssignee = task.assignee === null || isClosed(task) ? [] : [told(task.assignee, 'task_comment')];
    return [...toAssignee, ...comment.mentions.map((agent) => told(agent, 'task_mentioned'))].filter(
      ({ agent }) => actor.type !== 'agent' || agent === null || this.name(agent) !== actor.id,
    );
  }

  private toAssignee(
    reason: string,
    { after: task, actor }: Mutated,
    key: string | null = null,
    detail: Owed['payload'] = {},
  ): readonly Owed[] {
    return task.assignee === null ? [] : [this.wake(task.assignee, reason, { task, actor, detail, key })];
  }

  private wake(
    agent: number | null,
    reason: string,
    about: { task: ModelTask; actor: ModelActor; detail?: Owed['payload']; key?: string | null },
  ): Owed {
    const { task, actor, detail = {}, key = null } = about;
    const { workspaceId: workspace_id } = this;
    const who = { actor_type: actor.type, ...(actor.id === '' ? {} : { actor_id: actor.id }) };
    return { agent, reason, payload: { reason, task_id: task.id, workspace_id, ...who, ...detail }, key };
  }

  private name(agent: number): string {
    const name = this.agents[agent];
    if (name === undefined) throw new Error('There is no such agent.');
    return name;
  }
}

function digest(ids: readonly string[]): string {
  return createHash('sha256')
    .update([...ids].sort().join(','))
    .digest('hex');
}
