import {
  ALLOWANCE_LIMIT,
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';

interface Reaction {
  readonly reason: string;
  readonly agentProfileId: string;
  readonly outcome: string;
  readonly runId: string | null;
  readonly error: string | null;
  readonly allowance: {
    readonly limit: number;
    readonly observed: number;
    readonly retryAt: string | null;
  } | null;
}

interface Update {
  readonly task: { readonly assigneeAgentProfileId: string | null; readonly assignmentGeneration: number };
  readonly reactions: readonly Reaction[];
  readonly interruptedSessionId: string | null;
}

interface Listed {
  readonly items: readonly {
    readonly id: string;
    readonly status: string;
    readonly actorType: string | null;
  }[];
}

onEachDatabase('assigning a task over HTTP', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** Each hand-over comes after the coalescing window of the one before, so that none is merged. */
  async function handOver(office: Office, from: number, to: number): Promise<Update> {
    reveille().clock.advance(COALESCING_WINDOW_MS);
    const body = { assigneeAgentProfileId: office.agents[to] };
    const answer = await office.asAgents[from]?.patch<Update>(`/v1/tasks/${office.taskId}`, body);
    expect(answer?.status).toBe(200);
    if (answer === undefined) throw new Error('There is no such agent.');
    return answer.body;
  }

  it('wakes the assignee with a queued run', async () => {
    const { user, taskId, agents } = await anOffice(reveille());
    const { status, body } = await user.patch<Update>(`/v1/tasks/${taskId}`, {
      assigneeAgentProfileId: agents[0],
    });
    expect(status).toBe(200);
    expect(body.task).toMatchObject({ assigneeAgentProfileId: agents[0], assignmentGeneration: 1 });
    expect(body.reactions).toEqual([
      {
        reason: 'task_assigned',
        agentProfileId: agents[0],
        outcome: 'queued',
        runId: expect.any(String) as string,
        allowance: null,
        error: null,
      },
    ]);
    const run = await user.get<{ status: string; payload: object }>(
      `/v1/runs/${body.reactions[0]?.runId ?? ''}`,
    );
    expect(run.body).toMatchObject({ status: 'queued', payload: { task_id: taskId, actor_type: 'user' } });
  });

  it('AC-OFFICE-ASSIGN-RATE-001.13 carries the agent as the actor when an agent assigns', async () => {
    const office = await anOffice(reveille());
    const { reactions } = await handOver(office, 0, 1);
    const run = await office.user.get<object>(`/v1/runs/${reactions[0]?.runId ?? ''}`);
    expect(run.body).toMatchObject({
      actorType: 'agent',
      actorId: office.agents[0],
      payload: { actor_type: 'agent', actor_id: office.agents[0] },
    });
  });

  it('refuses the hand-over after the fifth, and says when one would pass', async () => {
    const office = await anOffice(reveille());
    const firstAt = reveille().clock.now() + COALESCING_WINDOW_MS;
    for (let hop = 0; hop < ALLOWANCE_LIMIT; hop++) {
      const { reactions } = await handOver(office, hop % 2, (hop + 1) % 2);
      expect(reactions[0]).toMatchObject({ outcome: 'queued', allowance: { observed: hop, retryAt: null } });
    }
    const refused = await handOver(office, 1, 0);
    expect(refused.reactions[0]).toMatchObject({
      outcome: 'rate_limited',
      runId: null,
      error: null,
      allowance: {
        limit: ALLOWANCE_LIMIT,
        observed: ALLOWANCE_LIMIT,
        retryAt: new Date(firstAt + ALLOWANCE_WINDOW_MS).toISOString(),
      },
    });
    expect(refused.task).toMatchObject({ assigneeAgentProfileId: office.agents[0], assignmentGeneration: 6 });
    const runs = await office.user.get<Listed>(`/v1/runs?taskId=${office.taskId}`);
    expect(runs.body.items).toHaveLength(ALLOWANCE_LIMIT);
    const byPerson = await office.user.patch<Update>(`/v1/tasks/${office.taskId}`, {
      assigneeAgentProfileId: office.agents[0],
    });
    expect(byPerson.body.reactions[0]).toMatchObject({ allowance: null, error: null });
    expect(byPerson.body.reactions[0]?.outcome).not.toBe('rate_limited');
  });

  it('AC-OFFICE-ASSIGN-RATE-001.9 wakes nobody when the assignee is cleared', async () => {
    const office = await anOffice(reveille());
    await handOver(office, 0, 1);
    const cleared = await office.asAgents[0]?.patch<Update>(`/v1/tasks/${office.taskId}`, {
      assigneeAgentProfileId: null,
    });
    expect(cleared?.body).toMatchObject({
      task: { assigneeAgentProfileId: null, assignmentGeneration: 2 },
      reactions: [],
    });
  });

  it('wakes the same agent again when it is assigned again', async () => {
    const office = await anOffice(reveille());
    const first = await handOver(office, 0, 1);
    const again = await handOver(office, 0, 1);
    expect(again.reactions[0]?.outcome).toBe('queued');
    expect(again.reactions[0]?.runId).not.toBe(first.reactions[0]?.runId);
    expect(again.task.assignmentGeneration).toBe(2);
  });

  it('keeps the change and reports the error when the workspace is paused, and wakes nobody', async () => {
    const { user, taskId, agents, workspaceId } = await anOffice(reveille());
    const pause = await user.put<{ reason: string }>(`/v1/workspaces/${workspaceId}/pause`, {
      reason: 'lunch',
    });
    expect(pause).toMatchObject({ status: 200, body: { reason: 'lunch' } });
    const { status, body } = await user.patch<Update>(`/v1/tasks/${taskId}`, {
      assigneeAgentProfileId: agents[0],
    });
    expect(status).toBe(200);
    expect(body.task.assigneeAgentProfileId).toBe(agents[0]);
    expect(body.reactions[0]).toMatchObject({ outcome: 'none', error: 'workspace_paused', runId: null });
    expect((await user.delete(`/v1/workspaces/${workspaceId}/pause`)).status).toBe(204);
    expect((await user.delete(`/v1/workspaces/${workspaceId}/pause`)).status).toBe(204);
  });

  it('refuses an agent that may not assign, and changes nothing', async () => {
    const office = await anOffice(reveille());
    await office.admin.patch(`/v1/agents/${office.agents[0] ?? ''}`, { canAssignTasks: false });
    const body = { assigneeAgentProfileId: office.agents[1] };
    const answer = await office.asAgents[0]?.patch(`/v1/tasks/${office.taskId}`, body);
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const task = await office.user.get(`/v1/tasks/${office.taskId}`);
    expect(task.body).toMatchObject({ assigneeAgentProfileId: null, assignmentGeneration: 0 });
  });
});
