import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { assign, conversation, keptBy, patch } from '../support/tasks.js';

onEachDatabase('an agent that may not assign', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** An office whose task belongs to the second agent, which has a conversation about it and a run; the first may not assign. */
  async function forbidding(): Promise<Office> {
    const office = await anOffice(reveille(), 3);
    await assign(office.user, office.taskId, pick(office.agents, 1));
    await conversation(reveille(), office.taskId, pick(office.agents, 1));
    await office.admin.patch(`/v1/agents/${pick(office.agents)}`, { canAssignTasks: false });
    return office;
  }

  it.each([
    ['to another', 2],
    ['to itself', 0],
    ['to whom it belongs', 1],
    ['to nobody', null],
  ])('assigns no task %s, and nothing at all has changed', async (_to, index) => {
    const office = await forbidding();
    const before = await keptBy(reveille(), office);
    const assigneeAgentProfileId = index === null ? null : office.agents[index];
    for (const others of [
      {},
      { title: 'Mine', state: 'REVIEW', comment: { body: 'Mine', mentions: [office.agents[2]] } },
    ])
      expect(
        await pick(office.asAgents).patch(`/v1/tasks/${office.taskId}`, {
          assigneeAgentProfileId,
          ...others,
        }),
      ).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await keptBy(reveille(), office)).toEqual(before);
  });

  it('changes all else of a task', async () => {
    const office = await forbidding();
    const { task, reactions } = await patch(pick(office.asAgents), office.taskId, {
      title: 'Mine',
      state: 'REVIEW',
      comment: { body: 'Done.' },
    });
    expect(task).toMatchObject({ title: 'Mine', state: 'REVIEW', assignmentGeneration: 1 });
    expect(reactions).toEqual([expect.objectContaining({ reason: 'task_comment', outcome: 'queued' })]);
  });

  it('assigns as soon as it may, and not a moment longer', async () => {
    const office = await forbidding();
    const agent = `/v1/agents/${pick(office.agents)}`;
    await office.admin.patch(agent, { canAssignTasks: true });
    expect((await assign(pick(office.asAgents), office.taskId, null)).task.assignmentGeneration).toBe(2);
    await office.admin.patch(agent, { canAssignTasks: false });
    const body = { assigneeAgentProfileId: office.agents[2] };
    expect((await pick(office.asAgents).patch(`/v1/tasks/${office.taskId}`, body)).status).toBe(403);
  });

  it('is not what a person is', async () => {
    const office = await forbidding();
    expect((await assign(office.user, office.taskId, pick(office.agents, 2))).task).toMatchObject({
      assigneeAgentProfileId: office.agents[2],
    });
  });

  it.each([
    ['ceo', 'it may'],
    ['assistant', 'it may'],
    ['worker', 'it may'],
    ['security', 'it may'],
    ['qa', 'it may not'],
    ['devops', 'it may not'],
    ['specialist', 'it may not'],
  ])('is one by default or not, as its role %s has it: %s', async (role, may) => {
    const office = await anOffice(reveille(), 1);
    const { workspaceId, admin, taskId } = office;
    const agent = await admin.post<{ id: string }>('/v1/agents', { workspaceId, name: role, role });
    const { token } = (await admin.post<{ token: string }>(`/v1/agents/${agent.body.id}/tokens`)).body;
    const body = { assigneeAgentProfileId: pick(office.agents) };
    const answer = await admin.as(token).patch(`/v1/tasks/${taskId}`, body);
    expect(answer.status).toBe(may === 'it may' ? 200 : 403);
  });
});
