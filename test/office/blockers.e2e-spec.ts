import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { block, keptBy, newTask, patch } from '../support/tasks.js';

interface Blocker {
  readonly taskId: string;
  readonly blockerTaskId: string;
  readonly createdAt: string;
}

onEachDatabase('which tasks wait for which', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const place = (taskId: string, blockerTaskId: string) => `/v1/tasks/${taskId}/blockers/${blockerTaskId}`;

  async function tasks(office: Office, count: number): Promise<readonly string[]> {
    const made: string[] = [];
    while (made.length < count) made.push(await newTask(office));
    return made;
  }

  async function blockersOf({ user }: Office, taskId: string): Promise<readonly string[]> {
    const { body } = await user.get<{ items: Blocker[] }>(`/v1/tasks/${taskId}/blockers`);
    return body.items.map(({ blockerTaskId }) => blockerTaskId);
  }

  it('adds, lists and removes them', async () => {
    const office = await anOffice(reveille());
    const [taskId = '', ...blockers] = await tasks(office, 3);
    for (const blocker of blockers) await block(office, taskId, blocker);
    expect([...(await blockersOf(office, taskId))].sort()).toEqual([...blockers].sort());
    expect((await office.user.delete(place(taskId, pick(blockers)))).status).toBe(204);
    expect((await office.user.delete(place(taskId, pick(blockers)))).status).toBe(204);
    expect(await blockersOf(office, taskId)).toEqual([blockers[1]]);
  });

  it('answers the one that stands when it is added again', async () => {
    const office = await anOffice(reveille());
    const [taskId = '', blocker = ''] = await tasks(office, 2);
    const first = await office.user.put<Blocker>(place(taskId, blocker));
    expect(first).toMatchObject({ status: 200, body: { taskId, blockerTaskId: blocker } });
    reveille().clock.advance(1000);
    expect(await office.user.put<Blocker>(place(taskId, blocker))).toMatchObject({
      status: 200,
      body: first.body,
    });
    expect(await blockersOf(office, taskId)).toEqual([blocker]);
  });

  it('refuses a circle of any length, and names its path', async () => {
    const office = await anOffice(reveille());
    const chain = await tasks(office, 4);
    for (const [index, taskId] of chain.slice(0, -1).entries())
      await block(office, taskId, pick(chain, index + 1));
    const last = pick(chain, 3);
    for (const start of [2, 1, 0]) {
      const answer = await office.user.put(place(last, pick(chain, start)));
      const path = [last, ...chain.slice(start)];
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect(answer).toMatchObject({
        status: 409,
        body: {
          code: 'blocker_cycle',
          status: 409,
          path,
          detail: expect.stringContaining(path.join(' → ')) as string,
        },
      });
    }
    expect(await blockersOf(office, last)).toEqual([]);
    await block(office, pick(chain), last);
  });

  it('refuses a task that would wait for itself', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    expect(await office.user.put(place(taskId, taskId))).toMatchObject({
      status: 409,
      body: { code: 'blocker_cycle', path: [taskId, taskId] },
    });
    expect(await blockersOf(office, taskId)).toEqual([]);
  });

  it('takes two ways to the same task for no circle', async () => {
    const office = await anOffice(reveille());
    const [top = '', left = '', right = '', bottom = ''] = await tasks(office, 4);
    for (const side of [left, right]) {
      await block(office, top, side);
      await block(office, side, bottom);
    }
    await block(office, top, bottom);
    expect(await office.user.put(place(bottom, top))).toMatchObject({
      status: 409,
      body: { path: [bottom, top, bottom] },
    });
  });

  it('lets exactly one of two win that would close a circle together', async () => {
    const office = await anOffice(reveille());
    for (let round = 0; round < 12; round++) {
      const [one = '', other = ''] = await tasks(office, 2);
      const answers = await Promise.all([
        office.user.put(place(one, other)),
        office.user.put(place(other, one)),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const standing = [await blockersOf(office, one), await blockersOf(office, other)];
      expect(standing.flat()).toHaveLength(1);
    }
  });

  it('lets exactly two of three win that would close one together', async () => {
    const office = await anOffice(reveille());
    for (let round = 0; round < 6; round++) {
      const ring = await tasks(office, 3);
      const answers = await Promise.all(
        ring.map((taskId, index) => office.user.put(place(taskId, pick(ring, (index + 1) % 3)))),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409]);
    }
  });

  it('knows neither tasks that are not there nor those of another workspace', async () => {
    const office = await anOffice(reveille());
    const elsewhere = await anOffice(reveille());
    for (const stranger of ['no-such-task', elsewhere.taskId]) {
      for (const answer of [
        await office.user.put(place(office.taskId, stranger)),
        await office.user.put(place(stranger, office.taskId)),
        await office.user.delete(place(stranger, office.taskId)),
        await office.user.get(`/v1/tasks/${stranger}/blockers`),
      ])
        expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    // An administrator sees both, and still joins no two workspaces.
    expect((await office.admin.put(place(office.taskId, elsewhere.taskId))).status).toBe(404);
    expect(await blockersOf(office, office.taskId)).toEqual([]);
  });

  it('is for administrators and people to say, and for everybody to read', async () => {
    const office = await anOffice(reveille());
    const [taskId = '', blocker = ''] = await tasks(office, 2);
    for (const caller of [pick(office.asAgents), office.worker]) {
      for (const answer of [
        await caller.put(place(taskId, blocker)),
        await caller.delete(place(taskId, blocker)),
      ])
        expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
      expect((await caller.get(`/v1/tasks/${taskId}/blockers`)).status).toBe(200);
    }
    for (const caller of [office.admin, office.user]) {
      expect((await caller.put(place(taskId, blocker))).status).toBe(200);
      expect((await caller.delete(place(taskId, blocker))).status).toBe(204);
    }
  });

  it('changes neither of the tasks, and holds up no change of them', async () => {
    const office = await anOffice(reveille());
    const [taskId = '', blocker = ''] = await tasks(office, 2);
    const before = await keptBy(reveille(), office);
    await block(office, taskId, blocker);
    expect(await keptBy(reveille(), office)).toEqual(before);
    expect((await patch(office.user, taskId, { state: 'COMPLETED' })).task.state).toBe('COMPLETED');
  });
});
