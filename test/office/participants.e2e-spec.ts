import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { conversation, keptBy, newTask, seat, sessionRow } from '../support/tasks.js';

interface Participant {
  readonly taskId: string;
  readonly agentProfileId: string;
  readonly role: string;
  readonly createdAt: string;
}

onEachDatabase('the roles of agents on a task', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const place = (taskId: string, agentProfileId: string) =>
    `/v1/tasks/${taskId}/participants/${agentProfileId}`;

  async function rolesOn({ user }: Office, taskId: string): Promise<readonly string[]> {
    const { body } = await user.get<{ items: Participant[] }>(`/v1/tasks/${taskId}/participants`);
    return body.items.map(({ role }) => role);
  }

  it('adds roles, removes one of them, or all', async () => {
    const office = await anOffice(reveille());
    const agent = pick(office.agents);
    for (const role of ['watcher', 'reviewer', 'approver']) await seat(office, office.taskId, agent, role);
    expect(await rolesOn(office, office.taskId)).toEqual(['approver', 'reviewer', 'watcher']);
    const url = place(office.taskId, agent);
    expect((await office.user.delete(`${url}?role=reviewer`)).status).toBe(204);
    expect(await rolesOn(office, office.taskId)).toEqual(['approver', 'watcher']);
    expect((await office.user.delete(url)).status).toBe(204);
    expect(await rolesOn(office, office.taskId)).toEqual([]);
  });

  it('answers the role that is held when it is given again', async () => {
    const office = await anOffice(reveille());
    const url = place(office.taskId, pick(office.agents));
    const first = await office.user.put<Participant>(url, { role: 'reviewer' });
    expect(first).toMatchObject({ status: 200, body: { role: 'reviewer', taskId: office.taskId } });
    reveille().clock.advance(1000);
    expect((await office.user.put<Participant>(url, { role: 'reviewer' })).body).toEqual(first.body);
    expect(await rolesOn(office, office.taskId)).toEqual(['reviewer']);
  });

  it('wakes nobody, and ends only the conversation of who is removed and holds no other seat', async () => {
    const office = await anOffice(reveille());
    const taskId = await newTask(office);
    const [staying, leaving] = [pick(office.agents), pick(office.agents, 1)];
    const sessions: string[] = [];
    for (const agentProfileId of [staying, leaving]) {
      for (const role of ['reviewer', 'approver', 'watcher'])
        await seat(office, taskId, agentProfileId, role);
      sessions.push((await conversation(reveille(), taskId, agentProfileId)).id);
    }
    const states = async () =>
      (await Promise.all(sessions.map((id) => sessionRow(reveille(), id)))).map(({ state }) => state);
    await office.user.delete(`${place(taskId, staying)}?role=reviewer`);
    await office.user.delete(`${place(taskId, leaving)}?role=reviewer`);
    expect(await states()).toEqual(['CREATED', 'CREATED']);
    await office.user.delete(`${place(taskId, leaving)}?role=approver`);
    expect(await states()).toEqual(['CREATED', 'COMPLETED']);
    expect((await keptBy(reveille(), office)).runs).toEqual([]);
  });

  it('knows neither agents and tasks that are not there nor those of another workspace', async () => {
    const office = await anOffice(reveille());
    const elsewhere = await anOffice(reveille());
    const body = { role: 'reviewer' };
    for (const answer of [
      await office.user.put(place(office.taskId, 'no-such-agent'), body),
      await office.user.put(place(office.taskId, pick(elsewhere.agents)), body),
      await office.admin.put(place(office.taskId, pick(elsewhere.agents)), body),
      await office.user.put(place(elsewhere.taskId, pick(office.agents)), body),
      await office.user.put(place('no-such-task', pick(office.agents)), body),
    ])
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await rolesOn(office, office.taskId)).toEqual([]);
  });

  it('takes no role that nobody has', async () => {
    const office = await anOffice(reveille());
    for (const role of ['assignee', 'runner', ''])
      expect(await office.user.put(place(office.taskId, pick(office.agents)), { role })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      });
  });

  it('is for administrators and people to say', async () => {
    const office = await anOffice(reveille());
    const url = place(office.taskId, pick(office.agents));
    for (const caller of [pick(office.asAgents), office.worker]) {
      expect((await caller.put(url, { role: 'reviewer' })).status).toBe(403);
      expect((await caller.delete(url)).status).toBe(403);
    }
    for (const caller of [office.admin, office.user]) {
      expect((await caller.put(url, { role: 'reviewer' })).status).toBe(200);
      expect((await caller.delete(url)).status).toBe(204);
    }
  });
});
