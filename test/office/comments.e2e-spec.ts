import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import {
  type Commented,
  assign,
  comment,
  keptBy,
  newTask,
  patch,
  runOf,
  runsAbout,
  told,
} from '../support/tasks.js';

interface Listed {
  readonly items: readonly Commented['comment'][];
  readonly nextCursor: string | null;
}

onEachDatabase('comments', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** A task of the first agent, whom nobody has woken yet. */
  const assigned = (office: Office, input: object = {}) =>
    newTask(office, { assigneeAgentProfileId: pick(office.agents), ...input });
  const list = (office: Office, taskId: string, query = '') =>
    office.user.get<Listed>(`/v1/tasks/${taskId}/comments${query}`);

  describe('whom they wake', () => {
    it('RUN-DEDUP-1 the assignee, and each who is mentioned, under keys of comment and recipient', async () => {
      const office = await anOffice(reveille(), 3);
      const [assignee, mentioned, author] = office.agents;
      const taskId = await assigned(office);
      const written = await comment(pick(office.asAgents, 2), taskId, { mentions: [pick(office.agents, 1)] });
      expect(told(written.reactions)).toEqual([
        ['task_comment', assignee, 'queued'],
        ['task_mentioned', mentioned, 'queued'],
      ]);
      const { id } = written.comment;
      const [first, second] = await Promise.all(written.reactions.map((reaction) => runOf(office, reaction)));
      const context = {
        task_id: taskId,
        workspace_id: office.workspaceId,
        actor_type: 'agent',
        actor_id: author,
        comment_id: id,
      };
      expect(first).toMatchObject({
        idempotencyKey: `task_comment:${id}:${assignee ?? ''}`,
        payload: { reason: 'task_comment', ...context },
      });
      expect(second).toMatchObject({
        idempotencyKey: `task_mentioned:${id}:${mentioned ?? ''}`,
        payload: { reason: 'task_mentioned', ...context },
      });
    });

    it('never their author, be it the assignee or one who mentions itself', async () => {
      const office = await anOffice(reveille());
      const taskId = await assigned(office);
      const [author, other] = [pick(office.agents), pick(office.agents, 1)];
      const own = await comment(pick(office.asAgents), taskId, { mentions: [author, other] });
      expect(told(own.reactions)).toEqual([['task_mentioned', other, 'queued']]);
      const theirs = await comment(pick(office.asAgents, 1), taskId, { mentions: [author, other] });
      expect(told(theirs.reactions)).toEqual([
        ['task_comment', author, 'queued'],
        ['task_mentioned', author, 'queued'],
      ]);
    });

    it('an agent whose id a person happens to bear is not their author', async () => {
      const office = await anOffice(reveille());
      const tokens = `/v1/workspaces/${office.workspaceId}/tokens`;
      const body = { kind: 'user', name: 'namesake', subject: pick(office.agents) };
      const { token } = (await office.admin.post<{ token: string }>(tokens, body)).body;
      const written = await comment(office.admin.as(token), await assigned(office));
      expect(written.comment).toMatchObject({ authorType: 'user', authorId: office.agents[0] });
      expect(told(written.reactions)).toEqual([['task_comment', office.agents[0], 'queued']]);
    });

    it.each(['COMPLETED', 'CANCELLED'])('only who is mentioned, when the task is %s', async (state) => {
      const office = await anOffice(reveille());
      const [assignee, mentioned] = [pick(office.agents), pick(office.agents, 1)];
      const closed = await assigned(office, { state });
      expect(told((await comment(office.user, closed, { mentions: [mentioned] })).reactions)).toEqual([
        ['task_mentioned', mentioned, 'queued'],
      ]);
      expect(told((await comment(office.user, closed, { mentions: [assignee] })).reactions)).toEqual([
        ['task_mentioned', assignee, 'queued'],
      ]);
      expect(told((await comment(office.user, await assigned(office))).reactions)).toEqual([
        ['task_comment', assignee, 'queued'],
      ]);
    });

    it('each once, however often it is mentioned, and nobody where there is neither assignee nor mention', async () => {
      const office = await anOffice(reveille());
      const mentioned = pick(office.agents, 1);
      const written = await comment(office.user, await newTask(office), { mentions: [mentioned, mentioned] });
      expect(told(written.reactions)).toEqual([['task_mentioned', mentioned, 'queued']]);
      expect(written.comment.mentions).toEqual([mentioned]);
      expect((await comment(office.user, await newTask(office))).reactions).toEqual([]);
    });

    it('again for every comment: two within a moment are two runs, of which neither is merged', async () => {
      const office = await anOffice(reveille());
      const taskId = await assigned(office);
      for (const times of [1, 2]) {
        const { reactions } = await comment(office.user, taskId);
        expect(told(reactions)).toEqual([['task_comment', office.agents[0], 'queued']]);
        expect(await runsAbout(office, taskId)).toHaveLength(times);
      }
    });
  });

  describe('with a change of the task', () => {
    it('RUN-DEDUP-1 reopen it under a key of the comment, and are a comment besides', async () => {
      const office = await anOffice(reveille());
      const assignee = pick(office.agents);
      const taskId = await assigned(office, { state: 'COMPLETED' });
      const { reactions } = await patch(office.user, taskId, {
        state: 'TODO',
        comment: { body: 'Not yet.' },
      });
      expect(told(reactions)).toEqual([
        ['task_reopened_via_comment', assignee, 'queued'],
        ['task_comment', assignee, 'queued'],
      ]);
      const id = pick((await list(office, taskId)).body.items).id;
      expect(await runOf(office, reactions[0])).toMatchObject({
        idempotencyKey: `task_reopened_via_comment:${id}:${assignee}`,
        payload: { reason: 'task_reopened_via_comment', comment_id: id, actor_type: 'user' },
      });
    });

    it('wake beside the unblocking that they come with', async () => {
      const office = await anOffice(reveille());
      const taskId = await assigned(office, { state: 'BLOCKED' });
      const { reactions } = await patch(office.user, taskId, { state: 'TODO', comment: { body: 'Go on.' } });
      expect(told(reactions)).toEqual([
        ['task_unblocked', office.agents[0], 'queued'],
        ['task_comment', office.agents[0], 'queued'],
      ]);
    });

    it('wake nobody who is assigned by the closing that they come with, and whom it opens to', async () => {
      const office = await anOffice(reveille());
      const taskId = await assigned(office);
      const closing = { state: 'COMPLETED', comment: { body: 'Done.', mentions: [office.agents[1]] } };
      expect(told((await patch(office.user, taskId, closing)).reactions)).toEqual([
        ['task_mentioned', office.agents[1], 'queued'],
      ]);
      const given = { assigneeAgentProfileId: office.agents[1], state: 'TODO', comment: { body: 'Yours.' } };
      expect(told((await patch(office.user, taskId, given)).reactions)).toEqual([
        ['task_reopened_via_comment', office.agents[1], 'queued'],
        ['task_assigned', office.agents[1], 'queued'],
        ['task_comment', office.agents[1], 'queued'],
      ]);
    });

    it('are not expected of an assignment alone', async () => {
      const office = await anOffice(reveille());
      await comment(office.user, office.taskId);
      const { reactions } = await assign(office.user, office.taskId, pick(office.agents));
      expect(told(reactions)).toEqual([['task_assigned', office.agents[0], 'queued']]);
    });
  });

  describe('who writes and reads them', () => {
    it('take their author from the token, and nothing of one from the body', async () => {
      const office = await anOffice(reveille());
      const url = `/v1/tasks/${office.taskId}/comments`;
      for (const field of ['authorId', 'authorType', 'actorId', 'actor_type', 'id']) {
        const answer = await pick(office.asAgents).post(url, { body: 'Text', [field]: 'somebody' });
        expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      }
      const byAgent = await comment(pick(office.asAgents), office.taskId, { body: 'Mine' });
      expect(byAgent.comment).toMatchObject({
        taskId: office.taskId,
        authorType: 'agent',
        authorId: office.agents[0],
        body: 'Mine',
        mentions: [],
      });
      const me = await office.user.get<{ id: string }>('/v1/me');
      expect((await comment(office.user, office.taskId)).comment).toMatchObject({
        authorType: 'user',
        authorId: me.body.id,
      });
    });

    it('are listed oldest first and page by page, those of PATCH among them', async () => {
      const office = await anOffice(reveille());
      const bodies = ['1', '2', '3', '4', '5'];
      for (const body of bodies) {
        if (body === '3') await patch(office.user, office.taskId, { comment: { body } });
        else await comment(office.user, office.taskId, { body });
      }
      await comment(office.user, await newTask(office), { body: 'elsewhere' });
      const seen: string[] = [];
      let cursor: string | null = '';
      for (let pages = 0; cursor !== null; pages++) {
        expect(pages).toBeLessThan(3);
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body } = await list(office, office.taskId, `?limit=2${next}`);
        seen.push(...body.items.map((item) => item.body));
        cursor = body.nextCursor;
      }
      expect(seen).toEqual(bodies);
      for (const reader of [office.admin, office.worker, pick(office.asAgents)])
        expect((await reader.get<Listed>(`/v1/tasks/${office.taskId}/comments`)).body.items).toHaveLength(5);
    });

    it('come from nobody who is only a worker, or from elsewhere', async () => {
      const office = await anOffice(reveille());
      const elsewhere = await anOffice(reveille());
      const url = `/v1/tasks/${office.taskId}/comments`;
      const body = { body: 'Text' };
      expect(await office.worker.post(url, body)).toMatchObject({
        status: 403,
        body: { code: 'forbidden' },
      });
      for (const stranger of [elsewhere.user, pick(elsewhere.asAgents)]) {
        expect((await stranger.post(url, body)).status).toBe(404);
        expect((await stranger.get(url)).status).toBe(404);
      }
      expect((await office.user.post('/v1/tasks/no-such-task/comments', body)).status).toBe(404);
      expect((await list(office, office.taskId)).body.items).toEqual([]);
    });

    it('leave nothing when they mention somebody who is not of the workspace', async () => {
      const office = await anOffice(reveille());
      const elsewhere = await anOffice(reveille());
      const before = await keptBy(reveille(), office);
      for (const stranger of ['no-such-agent', pick(elsewhere.agents)]) {
        const mentions = [pick(office.agents), stranger];
        for (const answer of [
          await office.user.post(`/v1/tasks/${office.taskId}/comments`, { body: 'Text', mentions }),
          await office.user.patch(`/v1/tasks/${office.taskId}`, {
            title: 'Other',
            comment: { body: 'x', mentions },
          }),
        ])
          expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
      }
      expect(await keptBy(reveille(), office)).toEqual(before);
    });
  });
});
