import { randomUUID } from 'node:crypto';
import { Ids } from '../../src/random/ids.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { FakeClock } from '../../src/testing.js';
import { DRIVERS, PRODUCERS, type Producer, type Stage } from '../support/assignment-drivers.js';
import { askAsAgent, assignBy, spend } from '../support/assignment-drivers.js';
import { onEachDatabase } from '../support/databases.js';
import { OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { PlantedIds } from '../support/planted-ids.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const WITHOUT_ACTOR = PRODUCERS.filter((producer) => producer !== 'assignmentMutation');

/** The key and the payload of each producer's wake, beside the actor that the first alone names. */
const EMITTED: Record<Producer, (task: string, agent: string) => { key: string | null; payload: object }> = {
  assignmentMutation: (task, agent) => ({
    key: `task_assigned:${task}:${agent}:1`,
    payload: { reason: 'task_assigned', task_id: task },
  }),
  taskLifecycle: (task, agent) => ({ key: `task_assigned:${task}:${agent}:1`, payload: { task_id: task } }),
  onboarding: (task, agent) => ({ key: `task_assigned:${task}:${agent}:1`, payload: { task_id: task } }),
  recoverySweep: (task) => ({ key: null, payload: { task_id: task } }),
  workflowAutoStart: (task, agent) => ({
    key: `task_assigned:${task}:${agent}:review:7`,
    payload: { task_id: task, workflow_step_id: 'review' },
  }),
};

onEachDatabase('the producers of task_assigned', (database) => {
  const ids = new PlantedIds(new FakeClock());
  const reveille = useReveille(() =>
    TestReveille.serve(database, {}, (builder) => builder.overrideProvider(Ids).useValue(ids)),
  );

  const stage = async (): Promise<Stage> => ({
    reveille: reveille(),
    scene: await OfficeScene.open(reveille()),
    ids,
    taskId: `t-${randomUUID()}`,
  });

  /** The run that a producer was driven to, as it is stored. */
  const stored = async ({ scene, taskId }: Stage, runId: string | null) => {
    const run = pick((await scene.runs(taskId)).filter(({ id }) => id === runId));
    return { ...run, payload: JSON.parse(run.payload) as Readonly<Record<string, unknown>> };
  };

  it.each(WITHOUT_ACTOR)(
    'AC-OFFICE-ASSIGN-RATE-001.12 %s names no actor, and sets exactly these keys',
    async (producer) => {
      const on = await stage();
      const { outcome, runId } = await DRIVERS[producer](on);
      expect(outcome).toBe('queued');
      const run = await stored(on, runId);
      const { key, payload } = EMITTED[producer](on.taskId, on.scene.agent());
      expect(run).toMatchObject({
        reason: 'task_assigned',
        idempotencyKey: key,
        actorType: null,
        actorId: null,
      });
      expect(run.payload).toEqual(payload);
    },
  );

  it('AC-OFFICE-ASSIGN-RATE-001.12, AC-OFFICE-ASSIGN-RATE-001.13 assignmentMutation alone names its actor: an agent when one has assigned', async () => {
    const on = await stage();
    const { runId } = await assignBy(on, on.scene.asAgent(1));
    const run = await stored(on, runId);
    const { key, payload } = EMITTED.assignmentMutation(on.taskId, on.scene.agent());
    expect(run).toMatchObject({ idempotencyKey: key, actorType: 'agent', actorId: on.scene.agent(1) });
    expect(run.payload).toEqual({
      ...payload,
      workspace_id: on.scene.office.workspaceId,
      actor_type: 'agent',
      actor_id: on.scene.agent(1),
    });
  });

  it.each(['user', 'admin'] as const)(
    'AC-OFFICE-ASSIGN-RATE-001.12 assignmentMutation names a user when the holder of a token for %s has assigned',
    async (kind) => {
      const on = await stage();
      const by = on.scene.office[kind];
      const { runId } = await assignBy(on, by);
      const { body: me } = await by.get<{ id: string }>('/v1/me');
      const run = await stored(on, runId);
      const { payload } = EMITTED.assignmentMutation(on.taskId, on.scene.agent());
      expect(run.payload).toEqual({
        ...payload,
        workspace_id: on.scene.office.workspaceId,
        actor_type: 'user',
        actor_id: me.id,
      });
    },
  );

  it('AC-OFFICE-ASSIGN-RATE-001.13 the agent is the actor inside a run of its own as well', async () => {
    const on = await stage();
    await on.scene.assign(on.scene.agent(1));
    const { agentToken } = await on.scene.claim();
    const { runId } = await assignBy(on, on.scene.office.admin.as(agentToken));
    expect((await stored(on, runId)).payload).toMatchObject({
      actor_type: 'agent',
      actor_id: on.scene.agent(1),
    });
  });

  describe('when the allowance of the task is exhausted', () => {
    const exhausted = async () => {
      const on = await stage();
      await spend(on, ALLOWANCE_LIMIT);
      return on;
    };

    it.each(WITHOUT_ACTOR)('AC-OFFICE-ASSIGN-RATE-001.12 %s wakes all the same', async (producer) => {
      const on = await exhausted();
      const { outcome, runId } = await DRIVERS[producer](on);
      expect(outcome).toBe('queued');
      expect(await stored(on, runId)).toMatchObject({ agentProfileId: on.scene.agent(), actorType: null });
      const refused = await askAsAgent(reveille(), on.taskId, on.scene.agent(1));
      expect(refused).toMatchObject({
        outcome: 'rate_limited',
        allowance: { observed: ALLOWANCE_LIMIT },
      });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.13 assignmentMutation is refused to an agent', async () => {
      const on = await exhausted();
      expect(await assignBy(on, on.scene.asAgent(1))).toMatchObject({
        outcome: 'rate_limited',
        runId: null,
        allowance: { observed: ALLOWANCE_LIMIT },
      });
      expect(await on.scene.task(on.taskId)).toMatchObject({ assigneeAgentProfileId: on.scene.agent() });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.12 assignmentMutation is granted to a person', async () => {
      const on = await exhausted();
      expect(await assignBy(on, on.scene.office.user)).toMatchObject({ outcome: 'queued', allowance: null });
    });
  });

  it.each(WITHOUT_ACTOR)('AC-OFFICE-ASSIGN-RATE-001.12 %s uses no allowance', async (producer) => {
    const on = await stage();
    await spend(on, ALLOWANCE_LIMIT - 1);
    expect(await DRIVERS[producer](on)).toMatchObject({ outcome: 'queued' });
    const last = await askAsAgent(reveille(), on.taskId, on.scene.agent(1));
    expect(last).toMatchObject({ outcome: 'queued', allowance: { observed: ALLOWANCE_LIMIT - 1 } });
  });

  it('AC-OFFICE-ASSIGN-RATE-001.13 assignmentMutation by an agent uses one', async () => {
    const on = await stage();
    await spend(on, ALLOWANCE_LIMIT - 1);
    expect(await assignBy(on, on.scene.asAgent(1))).toMatchObject({ outcome: 'queued' });
    const refused = await askAsAgent(reveille(), on.taskId, on.scene.agent(1));
    expect(refused).toMatchObject({ outcome: 'rate_limited', allowance: { observed: ALLOWANCE_LIMIT } });
  });
});
