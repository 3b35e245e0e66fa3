import { meetingAt } from '../support/contention.js';
import { first } from '../support/failing-statement.js';
import { Gate } from '../support/gate.js';
import { OfficeScene } from '../support/office-scene.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';

const AGENT_LOCK = /FROM "agents" .*FOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)/s;
const AGENT_KEPT = /FROM "agents" .*FOR (KEY SHARE|SHARE)/s;
const RUN_INSERT = /^INSERT INTO "runs"/;

const ROUNDS = 10;

/** Longer than the sweep looks for stragglers: those of one round are none of the next one's. */
const ROUND_MS = 11 * 60_000;

/** Whatever gives an agent something. */
const GIFTS = {
  'an assignment': ({ office }: OfficeScene, agent: string) =>
    office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: agent }),

  'a task created for it': ({ office: { user, workspaceId } }: OfficeScene, agent: string) =>
    user.post('/v1/tasks', { workspaceId, title: 'Task', kind: 'office', assigneeAgentProfileId: agent }),

  'its onboarding': ({ office: { user, workspaceId } }: OfficeScene, agent: string) =>
    user.post(`/v1/workspaces/${workspaceId}/onboarding`, { agentProfileId: agent, title: 'Start' }),

  'a role': ({ office }: OfficeScene, agent: string) =>
    office.user.put(`/v1/tasks/${office.taskId}/participants/${agent}`, { role: 'reviewer' }),

  'a mention': ({ office }: OfficeScene, agent: string) =>
    office.user.post(`/v1/tasks/${office.taskId}/comments`, { body: 'Look', mentions: [agent] }),
};

/** Where something could be left that is an agent's, once the sweep has been there. */
const LEFT_OVERS = [
  'SELECT * FROM tasks WHERE assignee_agent_profile_id = $1',
  'SELECT * FROM task_participants WHERE agent_profile_id = $1',
  'SELECT * FROM wake_notes WHERE agent_profile_id = $1',
  `SELECT * FROM runs WHERE agent_profile_id = $1 AND status <> 'cancelled'`,
];

/** On SQLite there is one writer, so nothing happens at the moment of a deletion: only before it, or after. */
describe('what happens at the moment in which an agent is deleted, on postgres', () => {
  const reveille = useReveille(() => TestReveille.serve('postgres'));

  const remove = ({ office }: OfficeScene, agent: string) => office.admin.delete(`/v1/agents/${agent}`);

  async function expectNothingLeftOf(scene: OfficeScene, agent: string): Promise<void> {
    await scene.sweep();
    for (const statement of LEFT_OVERS) expect(await scene.sql(statement, [agent])).toEqual([]);
  }

  it.each(Object.entries(GIFTS))(
    '%s is either before it, and undone, or after it, and refused',
    async (_gift, give) => {
      const scene = await OfficeScene.open(reveille(), ROUNDS);
      for (const agent of scene.office.agents) {
        reveille().clock.advance(ROUND_MS);
        const [given, removed] = await meetingAt([reveille()], [AGENT_LOCK, 2], () =>
          Promise.all([give(scene, agent), remove(scene, agent)]),
        );
        expect(removed.status).toBe(204);
        expect([200, 201, 404]).toContain(given.status);
        await expectNothingLeftOf(scene, agent);
      }
    },
  );

  it('ends in no deadlock when two agents are deleted whose tasks are exchanged meanwhile', async () => {
    const scene = await OfficeScene.open(reveille(), 2 * ROUNDS);
    const tasks = [await scene.create(), await scene.create(), await scene.create(), await scene.create()];
    for (let round = 0; round < ROUNDS; round++) {
      reveille().clock.advance(ROUND_MS);
      const pair = [scene.agent(2 * round), scene.agent(2 * round + 1)] as const;
      for (const [index, { id }] of tasks.entries())
        await scene.assign(pair[index % 2] ?? '', { taskId: id });
      const exchanges = tasks.map(({ id }, index) =>
        scene.office.user.patch(`/v1/tasks/${id}`, { assigneeAgentProfileId: pair[(index + 1) % 2] }),
      );
      const removals = pair.map((agent) => remove(scene, agent));
      for (const { status } of await Promise.all(removals)) expect(status).toBe(204);
      for (const { status } of await Promise.all(exchanges)) expect([200, 404]).toContain(status);
      for (const agent of pair) await expectNothingLeftOf(scene, agent);
    }
  });

  it('is one deletion when two are asked for at once', async () => {
    const scene = await OfficeScene.open(reveille());
    const answers = await meetingAt([reveille()], [AGENT_LOCK, 2], () =>
      Promise.all([remove(scene, scene.agent()), remove(scene, scene.agent())]),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
  });

  /** Deletes the first agent while the first statement of the shape, sent by `work`, waits for that. */
  async function deletingAt<T>(scene: OfficeScene, shape: RegExp, work: () => Promise<T>): Promise<T> {
    const isGone = new Gate();
    const isThere = new Gate();
    const arrival = first(1, shape);
    return intercepting(
      reveille(),
      async (statement) => {
        if (!arrival.test(statement.sql)) return statement;
        isThere.open();
        await isGone.passed;
        return statement;
      },
      async () => {
        const working = work();
        await isThere.passed;
        await scene.removeAgent(scene.agent()).finally(() => {
          isGone.open();
        });
        return working;
      },
    );
  }

  it('cancels a run that was admitted then', async () => {
    const scene = await OfficeScene.open(reveille());
    const wake = { agentProfileId: scene.agent(), reason: 'hello', payload: {} };
    const admitted = await deletingAt(scene, RUN_INSERT, () => scene.office.user.post('/v1/wakes', wake));
    expect(admitted).toMatchObject({ status: 201, body: { outcome: 'queued' } });
    expect(await scene.runs()).toMatchObject([{ status: 'queued' }]);
    await scene.sweep();
    expect(await scene.runs()).toMatchObject([{ status: 'cancelled', cancelReason: 'agent_deleted' }]);
  });

  it('hands out no such run before it is cancelled', async () => {
    const scene = await OfficeScene.open(reveille());
    const wake = { agentProfileId: scene.agent(), reason: 'hello', payload: {} };
    await deletingAt(scene, RUN_INSERT, () => scene.office.user.post('/v1/wakes', wake));
    const claimed = await scene.office.worker.post('/v1/runs/claim', { workerId: 'worker' });
    expect(claimed.body).toEqual({ claims: [] });
  });

  it.each(['office', 'kanban'])(
    'lets no turn open a conversation then about a task of kind %s',
    async (kind) => {
      const scene = await OfficeScene.open(reveille());
      const { id: taskId } = await scene.create({ kind });
      await scene.assign(scene.agent(), { taskId });
      const held = await scene.claim();
      const opened = await deletingAt(scene, AGENT_KEPT, () =>
        scene.report(held, 'session', { executionProfileId: 'default' }),
      );
      expect(opened).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await scene.sessions()).toEqual([]);
    },
  );
});
