import { randomUUID } from 'node:crypto';
import type { Answer } from './api.js';
import type { Office } from './office.js';

/** A session as the API shows it. */
export interface SessionView {
  readonly id: string;
  readonly taskId: string;
  readonly agentProfileId: string | null;
  readonly executionProfileId: string;
  readonly state: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly completedAt: string | null;
}

/** What is answered where a session may have been there already. */
export interface EnsuredView {
  readonly session: SessionView;
  readonly created: boolean;
}

/** Another task of the office. */
export async function taskIn(office: Office, kind: 'office' | 'kanban', assignee?: string): Promise<string> {
  const id = `t-${randomUUID()}`;
  const { workspaceId } = office;
  const assigned = assignee === undefined ? {} : { assigneeAgentProfileId: assignee };
  const answer = await office.admin.post('/v1/tasks', { id, workspaceId, title: 'Task', kind, ...assigned });
  expect(answer.status).toBe(201);
  return id;
}

/** Asks for a plain launch, which there is to be. */
export async function launchIn(
  office: Office,
  taskId: string,
  agentProfileId?: string,
  executionProfileId = 'profile',
): Promise<SessionView> {
  const body = { agentProfileId, executionProfileId };
  const { status, body: session } = await office.user.post<SessionView>(`/v1/tasks/${taskId}/sessions`, body);
  expect(status).toBe(201);
  return session;
}

/** Moves a session on, as it is allowed to. */
export async function moveIn(
  office: Office,
  { id }: SessionView,
  ...states: readonly string[]
): Promise<void> {
  for (const state of states)
    expect((await office.user.patch(`/v1/sessions/${id}`, { state })).status).toBe(200);
}

export function spawnIn(
  office: Office,
  { id }: SessionView,
  agentProfileId?: string,
): Promise<Answer<EnsuredView>> {
  return office.user.post(`/v1/sessions/${id}/spawn`, { agentProfileId });
}

/** All sessions of a task. */
export async function sessionsIn(office: Office, taskId: string): Promise<readonly SessionView[]> {
  const { body } = await office.user.get<{ items: SessionView[] }>(`/v1/tasks/${taskId}/sessions`);
  return body.items;
}
