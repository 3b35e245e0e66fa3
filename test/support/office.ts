import { randomUUID } from 'node:crypto';
import { Api } from './api.js';
import type { TestReveille } from './reveille.js';

/** An office made over HTTP: a workspace with some agents and a task, and tokens for whoever acts in it. */
export interface Office {
  readonly workspaceId: string;
  readonly agents: readonly string[];
  readonly taskId: string;
  readonly admin: Api;
  /** A person in the workspace. */
  readonly user: Api;
  readonly worker: Api;
  /** The agents themselves, in their order. */
  readonly asAgents: readonly Api[];
}

/** Makes an office with so many agents, none of which has a program: nothing runs unless the test claims it. */
export async function anOffice(reveille: TestReveille, agentCount = 2): Promise<Office> {
  const admin = new Api(reveille);
  const workspaceId = `w-${randomUUID()}`;
  await admin.post('/v1/workspaces', { id: workspaceId, name: 'Office' });
  const agents = Array.from({ length: agentCount }, () => `a-${randomUUID()}`);
  const asAgents: Api[] = [];
  for (const id of agents) {
    await admin.post('/v1/agents', { id, workspaceId, name: id });
    asAgents.push(admin.as(await tokenFrom(admin, `/v1/agents/${id}/tokens`)));
  }
  const taskId = `t-${randomUUID()}`;
  await admin.post('/v1/tasks', { id: taskId, workspaceId, title: 'Task', kind: 'office' });
  const tokens = `/v1/workspaces/${workspaceId}/tokens`;
  const user = admin.as(await tokenFrom(admin, tokens, { kind: 'user', name: 'a person' }));
  const worker = admin.as(await tokenFrom(admin, tokens, { kind: 'worker', name: 'a worker' }));
  return { workspaceId, agents, taskId, admin, user, worker, asAgents };
}

async function tokenFrom(admin: Api, path: string, body: object = {}): Promise<string> {
  const answer = await admin.post<{ token: string }>(path, body);
  expect(answer.status).toBe(201);
  return answer.body.token;
}
