import { randomUUID } from 'node:crypto';
import { EventSchema, type StoredEvent } from '../../src/events/event.schema.js';
import { type Note, NoteSchema } from '../../src/office/reactivity/note.schema.js';
import { type Session, SessionSchema } from '../../src/sessions/session.schema.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import { type Run, RunSchema } from '../../src/runs/run.schema.js';
import { type TaskComment, TaskCommentSchema } from '../../src/tasks/task-comment.schema.js';
import { type Task, TaskSchema } from '../../src/tasks/task.schema.js';
import { Transactions } from '../../src/database/transactions.js';
import type { Answer, Api } from './api.js';
import type { Office } from './office.js';
import type { TestReveille } from './reveille.js';

/** What became of one wake, as a mutation's answer tells it. */
export interface ReactionView {
  readonly reason: string;
  readonly agentProfileId: string;
  readonly outcome: string;
  readonly runId: string | null;
  readonly error: string | null;
  readonly allowance: { readonly observed: number } | null;
}

/** The answer to a change of a task. */
export interface TaskUpdate {
  readonly task: Pick<Task, 'id' | 'state' | 'assigneeAgentProfileId' | 'assignmentGeneration'>;
  readonly reactions: readonly ReactionView[];
  readonly interruptedSessionId: string | null;
}

/** The answer to a comment. */
export interface Commented {
  readonly comment: {
    readonly id: string;
    readonly taskId: string;
    readonly authorType: string;
    readonly authorId: string;
    readonly body: string;
    readonly mentions: readonly string[];
  };
  readonly reactions: readonly ReactionView[];
}

/** A run as the API shows it. */
export type RunView = Pick<
  Run,
  'id' | 'agentProfileId' | 'reason' | 'status' | 'idempotencyKey' | 'actorType' | 'cancelReason'
> & { readonly payload: Readonly<Record<string, unknown>> };

/** Changes a task, which must succeed. */
export async function patch(api: Api, taskId: string, body: object): Promise<TaskUpdate> {
  return ok(200, await api.patch<TaskUpdate>(`/v1/tasks/${taskId}`, body));
}

/** Gives a task to an agent, or to nobody, which must succeed. */
export function assign(api: Api, taskId: string, assigneeAgentProfileId: string | null): Promise<TaskUpdate> {
  return patch(api, taskId, { assigneeAgentProfileId });
}

/** Writes about a task, which must succeed. */
export async function comment(
  api: Api,
  taskId: string,
  body: { readonly body?: string; readonly mentions?: readonly string[] } = {},
): Promise<Commented> {
  return ok(201, await api.post<Commented>(`/v1/tasks/${taskId}/comments`, { body: 'Text', ...body }));
}

/** Makes one more task in the office. Of kind kanban unless told otherwise: creating it wakes nobody then. */
export async function newTask({ admin, workspaceId }: Office, input: object = {}): Promise<string> {
  const task = { id: `t-${randomUUID()}`, workspaceId, title: 'Task', kind: 'kanban', ...input };
  return ok(201, await admin.post<Task>('/v1/tasks', task)).id;
}

/** Lets a task wait for another, which must succeed. */
export async function block({ user }: Office, taskId: string, blockerTaskId: string): Promise<void> {
  ok(200, await user.put(`/v1/tasks/${taskId}/blockers/${blockerTaskId}`));
}

/** Gives an agent a role on a task, which must succeed. */
export async function seat({ user }: Office, taskId: string, agentProfileId: string, role: string) {
  ok(200, await user.put(`/v1/tasks/${taskId}/participants/${agentProfileId}`, { role }));
}

/** Opens an agent's conversation about a task, without a turn in it. */
export async function conversation(
  reveille: TestReveille,
  taskId: string,
  agentProfileId: string,
): Promise<Session> {
  const pair = { taskId, agentProfileId, executionProfileId: 'default' };
  return (await reveille.get(SessionsService).ensure(pair)).session;
}

/** A conversation as it is stored now, whole. */
export function sessionRow(reveille: TestReveille, id: string): Promise<Session> {
  return reveille.get(SessionsService).get(id);
}

/** The runs about a task, oldest first. */
export async function runsAbout({ user }: Office, taskId: string): Promise<readonly RunView[]> {
  const { body } = await user.get<{ items: RunView[] }>(`/v1/runs?taskId=${taskId}&limit=200`);
  return [...body.items].reverse();
}

/** The run of a reaction, which must have one. */
export async function runOf({ user }: Office, reaction: ReactionView | undefined): Promise<RunView> {
  return ok(200, await user.get<RunView>(`/v1/runs/${reaction?.runId ?? 'none'}`));
}

/** Reason, recipient and outcome of each reaction, in their order. */
export function told(reactions: readonly ReactionView[]): readonly (readonly string[])[] {
  return reactions.map(({ reason, agentProfileId, outcome }) => [reason, agentProfileId, outcome]);
}

/** Everything that an office keeps of what was done in it, row by row as stored: equal before and after what did nothing. */
export interface Kept {
  readonly tasks: readonly Task[];
  readonly events: readonly Pick<StoredEvent, 'id' | 'type' | 'subject' | 'data'>[];
  readonly notes: readonly Note[];
  readonly runs: readonly Run[];
  readonly sessions: readonly Session[];
  readonly comments: readonly TaskComment[];
}

export async function keptBy(reveille: TestReveille, { workspaceId }: Office): Promise<Kept> {
  const manager = reveille.get(Transactions).reading();
  const all = { where: { workspaceId }, order: { id: 'ASC' } } as const;
  const events = await manager.find(EventSchema, all);
  return {
    tasks: await manager.find(TaskSchema, all),
    // A number is given to an event later, by the sequencer.
    events: events.map(({ id, type, subject, data }) => ({ id, type, subject, data })),
    notes: await manager.find(NoteSchema, all),
    runs: await manager.find(RunSchema, all),
    sessions: await manager.find(SessionSchema, all),
    comments: await manager.find(TaskCommentSchema, all),
  };
}

function ok<Body>(status: number, answer: Answer<Body>): Body {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  return answer.body;
}
