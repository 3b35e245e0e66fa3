import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import {
  type EnsuredView,
  type SessionView,
  launchIn,
  moveIn,
  sessionsIn,
  spawnIn,
  taskIn,
} from '../support/session-api.js';

onEachDatabase('ways to a session that are free of the guard', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** An office with a task of the kind, whose first agent may be the assignee. */
  const scene = async (kind: 'office' | 'kanban', isAssigned = false) => {
    const office = await anOffice(reveille());
    const [agent, other] = [pick(office.agents, 0), pick(office.agents, 1)];
    const taskId = await taskIn(office, kind, isAssigned ? agent : undefined);
    return { office, agent, other, taskId };
  };

  describe.each(['kanban', 'office'] as const)('on a %s task', (kind) => {
    it('AC-OFFICE-SESSION-IDENTITY-004.1 AC-OFFICE-SESSION-IDENTITY-004.2 launch a second live session beside the first', async () => {
      const { office, agent, taskId } = await scene(kind, true);
      const first = await launchIn(office, taskId, agent);
      await moveIn(office, first, 'RUNNING');
      const second = await launchIn(office, taskId, agent);
      expect(second).toMatchObject({ taskId, agentProfileId: agent, state: 'CREATED', metadata: {} });
      expect(second.id).not.toBe(first.id);
      expect((await sessionsIn(office, taskId)).map(({ state }) => state).sort()).toEqual([
        'CREATED',
        'RUNNING',
      ]);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.1 launch as many as are asked for at once', async () => {
      const { office, agent, taskId } = await scene(kind);
      await Promise.all(Array.from({ length: 8 }, () => launchIn(office, taskId, agent)));
      const sessions = await sessionsIn(office, taskId);
      expect(sessions).toHaveLength(8);
      expect(sessions.filter(({ metadata }) => 'origin' in metadata)).toHaveLength(1);
    });

    it('AC-OFFICE-SESSION-IDENTITY-001.5 launch without an agent as often as they like', async () => {
      const { office, taskId } = await scene(kind);
      const launched = [await launchIn(office, taskId), await launchIn(office, taskId)];
      expect(launched.map(({ agentProfileId }) => agentProfileId)).toEqual([null, null]);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.3 prepare a replacement while what it replaces is live, and stays so', async () => {
      const { office, agent, taskId } = await scene(kind, true);
      const current = await launchIn(office, taskId, agent, 'special');
      await moveIn(office, current, 'RUNNING');
      const replaced = await office.user.post<SessionView>(`/v1/sessions/${current.id}/replace`);
      expect(replaced).toMatchObject({
        status: 201,
        body: {
          taskId,
          agentProfileId: agent,
          executionProfileId: 'special',
          state: 'CREATED',
          metadata: {},
        },
      });
      const sessions = await sessionsIn(office, taskId);
      expect(sessions.map(({ state }) => state).sort()).toEqual(['CREATED', 'RUNNING']);
      expect(sessions.find(({ id }) => id === current.id)?.metadata).toEqual({ origin: 'task_initial' });
    });

    it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
      'neither replace nor spawn from one that is %s',
      async (end) => {
        const { office, agent, taskId } = await scene(kind);
        const over = await launchIn(office, taskId, agent);
        await moveIn(office, over, end);
        const conflict = { status: 409, body: { code: 'illegal_transition' } };
        expect(await office.user.post(`/v1/sessions/${over.id}/replace`)).toMatchObject(conflict);
        expect(await spawnIn(office, over)).toMatchObject(conflict);
        expect(await sessionsIn(office, taskId)).toHaveLength(1);
      },
    );

    it('AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-001.8 do not keep ensure from finding one, or making the first', async () => {
      const { office, agent, other, taskId } = await scene(kind);
      const launched = await launchIn(office, taskId, agent);
      const ensure = (agentProfileId: string) =>
        office.user.post<EnsuredView>(`/v1/tasks/${taskId}/sessions/ensure`, {
          agentProfileId,
          executionProfileId: 'profile',
        });
      expect(await ensure(agent)).toMatchObject({
        status: 200,
        body: { created: false, session: { id: launched.id } },
      });
      const made = await ensure(other);
      expect(made).toMatchObject({
        status: 200,
        body: { created: true, session: { agentProfileId: other } },
      });
      expect((await ensure(other)).body).toEqual({ ...made.body, created: false });
      expect(await sessionsIn(office, taskId)).toHaveLength(2);
    });
  });

  describe.each([
    ['a kanban task', 'kanban', true],
    ['an office task that nobody is assigned to', 'office', false],
  ] as const)('spawning on %s', (_, kind, isAssigned) => {
    it('AC-OFFICE-SESSION-IDENTITY-004.4 makes a session of the spawner’s agent and profile, beside the spawner’s', async () => {
      const { office, agent, taskId } = await scene(kind, isAssigned);
      const spawner = await launchIn(office, taskId, agent, 'special');
      await moveIn(office, spawner, 'RUNNING');
      for (let time = 0; time < 2; time++) {
        const spawned = await spawnIn(office, spawner);
        expect(spawned).toMatchObject({
          status: 201,
          body: { created: true, session: { agentProfileId: agent, executionProfileId: 'special' } },
        });
      }
      expect(await sessionsIn(office, taskId)).toHaveLength(3);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.4 makes one of the agent that is named, on that agent’s own profile', async () => {
      const { office, agent, other, taskId } = await scene(kind, isAssigned);
      await office.admin.patch(`/v1/agents/${other}`, { executionProfileId: 'others-own' });
      const spawner = await launchIn(office, taskId, agent, 'special');
      expect(await spawnIn(office, spawner, other)).toMatchObject({
        status: 201,
        body: { created: true, session: { agentProfileId: other, executionProfileId: 'others-own' } },
      });
      expect((await spawnIn(office, spawner, agent)).body.session).toMatchObject({
        agentProfileId: agent,
        executionProfileId: 'special',
      });
    });
  });

  describe('spawning on an office task with an assignee', () => {
    it('AC-OFFICE-SESSION-IDENTITY-004.4 converges on the assignee’s one session, made when there is none yet', async () => {
      const { office, agent, other, taskId } = await scene('office', true);
      const spawner = await launchIn(office, taskId, other);
      const made = await spawnIn(office, spawner);
      expect(made).toMatchObject({
        status: 201,
        body: { created: true, session: { agentProfileId: agent } },
      });
      const again = await Promise.all([
        spawnIn(office, spawner),
        spawnIn(office, spawner, agent),
        spawnIn(office, made.body.session),
      ]);
      for (const { status, body } of again) {
        expect({ status, created: body.created }).toEqual({ status: 200, created: false });
        expect(body.session.id).toBe(made.body.session.id);
      }
      expect(await sessionsIn(office, taskId)).toHaveLength(2);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.4 leaves that session its profile, and an agent that is led to it nothing of what it remembers', async () => {
      const { office, agent, other, taskId } = await scene('office', true);
      const conversation = Conversation.about(reveille(), { ...office, taskId });
      const metadata = { acp_session_id: 'kept' };
      const given = { state: 'RUNNING', agentProfileId: agent, executionProfileId: 'special', metadata };
      await conversation.write({ ...given, id: 'assignees' });
      const before = await conversation.row('assignees');
      const spawner = await launchIn(office, taskId, other);
      const asOther = pick(office.asAgents, 1);
      const led = await asOther.post<EnsuredView>(`/v1/sessions/${spawner.id}/spawn`);
      expect(led.body).toMatchObject({ created: false, session: { id: conversation.idOf('assignees') } });
      expect(led.body.session.metadata).toEqual({});
      expect((await spawnIn(office, spawner)).body.session.metadata).toEqual(metadata);
      expect(await conversation.row('assignees')).toEqual(before);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.4 is one session for all who spawn at once', async () => {
      const { office, other, taskId } = await scene('office', true);
      const spawner = await launchIn(office, taskId, other);
      const spawned = await Promise.all(Array.from({ length: 8 }, () => spawnIn(office, spawner)));
      expect(spawned.map(({ status }) => status).sort()).toEqual([...Array<number>(7).fill(200), 201]);
      expect(new Set(spawned.map(({ body }) => body.session.id)).size).toBe(1);
    });

    it('AC-OFFICE-SESSION-IDENTITY-004.1 makes a session of its own for anybody else who is named', async () => {
      const { office, agent, other, taskId } = await scene('office', true);
      const spawner = await launchIn(office, taskId, agent);
      for (let time = 0; time < 2; time++)
        expect(await spawnIn(office, spawner, other)).toMatchObject({
          status: 201,
          body: { session: { agentProfileId: other } },
        });
      expect(await sessionsIn(office, taskId)).toHaveLength(3);
    });
  });
});
