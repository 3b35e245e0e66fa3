import {
  ALLOWANCE_LIMIT,
  COALESCING_WINDOW_MS,
  IDEMPOTENCY_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';
import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import {
  type TaskUpdate,
  assign,
  comment,
  keptBy,
  newTask,
  patch,
  runOf,
  runsAbout,
} from '../support/tasks.js';

interface DecisionView {
  readonly outcome: string;
  readonly runId: string | null;
}

onEachDatabase('the keys of assignments', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  const key = (taskId: string, agentProfileId: string, generation: number) =>
    `task_assigned:${taskId}:${agentProfileId}:${generation}`;
  const generationOf = async ({ user }: Office, taskId: string) =>
    (await user.get<TaskUpdate['task']>(`/v1/tasks/${taskId}`)).body.assignmentGeneration;

  /** Assigns past the coalescing window of whatever came before, so that the wake finds nothing to be merged with. */
  function assignLater(api: Api, taskId: string, agentProfileId: string | null): Promise<TaskUpdate> {
    reveille().clock.advance(COALESCING_WINDOW_MS);
    return assign(api, taskId, agentProfileId);
  }

  /** Delivers a wake once more, as only an administrator may: under a producer's own key. */
  const redeliver = async ({ admin }: Office, agentProfileId: string, taskId: string, generation: number) =>
    admin.post<DecisionView>('/v1/wakes', {
      agentProfileId,
      reason: 'task_assigned',
      payload: { task_id: taskId },
      idempotencyKey: key(taskId, agentProfileId, generation),
    });

  it('RUN-DEDUP-1 hold the generation that every assignment raises, also one to nobody or to the same agent', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    const [first, second] = [pick(office.agents), pick(office.agents, 1)];
    const generations = [];
    for (const assignee of [first, first, null, null, second, first]) {
      const { task, reactions } = await assignLater(office.user, taskId, assignee);
      expect(task.assigneeAgentProfileId).toBe(assignee);
      generations.push(task.assignmentGeneration);
      const keys = await Promise.all(reactions.map((reaction) => runOf(office, reaction)));
      expect(keys.map(({ idempotencyKey }) => idempotencyKey)).toEqual(
        assignee === null ? [] : [key(taskId, assignee, task.assignmentGeneration)],
      );
    }
    expect(generations).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('RUN-DEDUP-1 are not moved by anything that is no assignment', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    await assign(office.user, taskId, pick(office.agents));
    for (const change of [
      { title: 'Another' },
      { priority: 'high' },
      { state: 'BLOCKED' },
      { comment: { body: 'Text' } },
      {},
    ])
      expect((await patch(office.user, taskId, change)).task.assignmentGeneration).toBe(1);
    await comment(office.user, taskId);
    await office.user.put(`/v1/tasks/${taskId}/participants/${pick(office.agents, 1)}`, { role: 'reviewer' });
    expect(await generationOf(office, taskId)).toBe(1);
    const assigned = (await runsAbout(office, taskId)).filter(({ reason }) => reason === 'task_assigned');
    expect(assigned).toHaveLength(1);
    expect((await assignLater(office.user, taskId, pick(office.agents))).task.assignmentGeneration).toBe(2);
  });

  it('RUN-DEDUP-2 let a task go from one agent to another and back: each is woken each time', async () => {
    const office = await anOffice(reveille());
    const runs = [];
    for (const index of [0, 1, 0, 1, 0]) {
      const { reactions } = await assignLater(office.user, office.taskId, pick(office.agents, index));
      expect(reactions.map(({ outcome }) => outcome)).toEqual(['queued']);
      runs.push(reactions[0]?.runId);
    }
    expect(new Set(runs).size).toBe(runs.length);
  });

  it('RUN-DEDUP-2 wake the same agent again: merged within a moment, after it by a run of its own', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    const agent = pick(office.agents);
    const outcomeOf = ({ reactions }: TaskUpdate) => reactions.map(({ outcome }) => outcome);
    expect(outcomeOf(await assign(office.user, taskId, agent))).toEqual(['queued']);
    expect(outcomeOf(await assign(office.user, taskId, agent))).toEqual(['coalesced']);
    expect(outcomeOf(await assignLater(office.user, taskId, agent))).toEqual(['queued']);
    reveille().clock.advance(IDEMPOTENCY_WINDOW_MS + 1);
    expect(outcomeOf(await assign(office.user, taskId, agent))).toEqual(['queued']);
    expect(await generationOf(office, taskId)).toBe(4);
  });

  it('RUN-DEDUP-1, RUN-DEDUP-3 recognise the occurrence delivered again, whoever delivers it and however late', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    const agent = pick(office.agents);
    const { reactions } = await assign(office.user, taskId, agent);
    for (const passing of [0, COALESCING_WINDOW_MS, IDEMPOTENCY_WINDOW_MS]) {
      reveille().clock.advance(passing);
      expect(await redeliver(office, agent, taskId, 1)).toMatchObject({
        status: 200,
        body: { outcome: 'deduped', runId: reactions[0]?.runId },
      });
    }
    // The same words about the next generation are another occurrence.
    expect(await redeliver(office, agent, taskId, 2)).toMatchObject({
      status: 201,
      body: { outcome: 'queued' },
    });
    expect((await assign(office.user, taskId, agent)).reactions[0]).toMatchObject({ outcome: 'deduped' });
  });

  it('RUN-DEDUP-1 recognise an assignment that was merged away, and one whose successor has come already', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    const agent = pick(office.agents);
    const first = await assign(office.user, taskId, agent);
    await assign(office.user, taskId, agent);
    await assignLater(office.user, taskId, agent);
    for (const generation of [1, 2])
      expect((await redeliver(office, agent, taskId, generation)).body).toMatchObject({
        outcome: 'deduped',
        runId: first.reactions[0]?.runId,
      });
    expect(await runsAbout(office, taskId)).toHaveLength(2);
  });

  it('AC-OFFICE-ASSIGN-RATE-002.5 use the allowance once, delivered however often', async () => {
    const office = await anOffice(reveille());
    const { taskId } = office;
    for (let hop = 0; hop < ALLOWANCE_LIMIT; hop++) {
      const { reactions } = await assignLater(pick(office.asAgents), taskId, pick(office.agents, 1));
      expect(reactions[0]).toMatchObject({ outcome: 'queued', allowance: { observed: hop } });
      expect((await redeliver(office, pick(office.agents, 1), taskId, hop + 1)).body).toMatchObject({
        outcome: 'deduped',
      });
    }
  });

  it('RUN-DEDUP-1 are all different when assignments come at once, and no generation is lost', async () => {
    const office = await anOffice(reveille(), 4);
    const count = 12;
    const updates = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        assign(office.user, office.taskId, pick(office.agents, index % office.agents.length)),
      ),
    );
    const generations = updates.map(({ task }) => task.assignmentGeneration);
    expect([...generations].sort((one, other) => one - other)).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
    expect(await generationOf(office, office.taskId)).toBe(count);
    for (const { reactions } of updates)
      expect(reactions).toEqual([expect.objectContaining({ reason: 'task_assigned', error: null })]);
    expect(updates.flatMap(({ reactions }) => reactions.map(({ outcome }) => outcome))).not.toContain(
      'deduped',
    );
  });

  describe('of tasks that are created', () => {
    it('RUN-DEDUP-1 begin at 1 for an assignee, in the column, in the event and in the one wake', async () => {
      const office = await anOffice(reveille());
      const agent = pick(office.agents);
      const taskId = await newTask(office, { kind: 'office', assigneeAgentProfileId: agent });
      expect(await generationOf(office, taskId)).toBe(1);
      const { events } = await keptBy(reveille(), office);
      const told = events.filter(
        ({ type, subject }) => type.startsWith('task.') && subject.taskId === taskId,
      );
      expect(told).toEqual([
        expect.objectContaining({
          type: 'task.created',
          data: expect.objectContaining({ assignmentGeneration: 1 }) as object,
        }),
      ]);
      expect(await runsAbout(office, taskId)).toEqual([
        expect.objectContaining({ idempotencyKey: key(taskId, agent, 1) }),
      ]);
    });

    it('RUN-DEDUP-1 begin at 0 for none: nobody is woken, and the first assignment is the first', async () => {
      const office = await anOffice(reveille());
      const agent = pick(office.agents);
      const taskId = await newTask(office, { kind: 'office' });
      const { events } = await keptBy(reveille(), office);
      expect(events.at(-1)).toMatchObject({ type: 'task.created', data: { assignmentGeneration: 0 } });
      expect(await generationOf(office, taskId)).toBe(0);
      expect(await runsAbout(office, taskId)).toEqual([]);
      const { reactions } = await assign(office.user, taskId, agent);
      expect((await runOf(office, reactions[0])).idempotencyKey).toBe(key(taskId, agent, 1));
    });
  });

  it('RUN-DEDUP-1 are raised in the transaction of the assignment: one that fails leaves nothing', async () => {
    const office = await anOffice(reveille());
    const { taskId, user } = office;
    await assign(user, taskId, pick(office.agents));
    const before = await keptBy(reveille(), office);
    const body = { assigneeAgentProfileId: pick(office.agents, 1), comment: { body: 'Yours.' } };
    RecordingLogger.of(reveille());
    for (const step of [/^UPDATE "tasks"/, /^INSERT INTO "events"/, /^INSERT INTO "wake_notes"/]) {
      const answer = await whileFailing(reveille(), step, () => user.patch(`/v1/tasks/${taskId}`, body));
      expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
      expect(await keptBy(reveille(), office)).toEqual(before);
    }
    expect((await patch(user, taskId, body)).task.assignmentGeneration).toBe(2);
  });
});

onEachDatabase('the keys of workflows and of agents', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  it('RUN-DEDUP-1 tell one move to a step from the next, and a move from its redelivery', async () => {
    const office = await anOffice(reveille());
    const assigneeAgentProfileId = pick(office.agents);
    const taskId = await newTask(office, { assigneeAgentProfileId });
    const start = async (stepTransitionId: number | string) => {
      reveille().clock.advance(COALESCING_WINDOW_MS);
      const url = `/v1/tasks/${taskId}/auto-start`;
      return (await office.user.post<DecisionView>(url, { stepId: 'step-1', stepTransitionId })).body;
    };
    const first = await start(17);
    const again = await start('17');
    const next = await start(18);
    expect([first, again, next].map(({ outcome }) => outcome)).toEqual(['queued', 'deduped', 'queued']);
    expect((await runsAbout(office, taskId)).map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      `task_assigned:${taskId}:${assigneeAgentProfileId}:step-1:17`,
      `task_assigned:${taskId}:${assigneeAgentProfileId}:step-1:18`,
    ]);
  });

  it('RUN-DEDUP-6 hold for the run in which an agent gave them, and for no other', async () => {
    const office = await anOffice(reveille());
    const wake = {
      agentProfileId: pick(office.agents, 1),
      reason: 'hello',
      payload: {},
      idempotencyKey: 'mine',
    };
    const say = async (api: Api) => {
      reveille().clock.advance(COALESCING_WINDOW_MS);
      return (await api.post<DecisionView>('/v1/wakes', wake)).body.outcome;
    };
    const agentInRun = async () => {
      await office.user.post('/v1/wakes', {
        agentProfileId: pick(office.agents),
        reason: 'work',
        payload: {},
      });
      const { body } = await office.worker.post<{
        claims: { run: { id: string }; claimToken: string; agentToken: string }[];
      }>('/v1/runs/claim', { workerId: 'w', agentProfileIds: [pick(office.agents)] });
      const { run, claimToken, agentToken } = pick(body.claims);
      const end = () => office.worker.post(`/v1/runs/${run.id}/finish`, { claimToken });
      return { api: office.admin.as(agentToken), end };
    };
    const first = await agentInRun();
    expect([await say(first.api), await say(first.api)]).toEqual(['queued', 'deduped']);
    await first.end();
    const second = await agentInRun();
    expect([await say(second.api), await say(second.api)]).toEqual(['queued', 'deduped']);
    expect(await say(pick(office.asAgents))).toBe('queued');
    expect(await say(office.user)).toBe('queued');
  });

  it('RUN-DEDUP-3 cannot be taken by others than administrators', async () => {
    const office = await anOffice(reveille());
    const wake = { agentProfileId: pick(office.agents), reason: 'hello', payload: {} };
    for (const idempotencyKey of [
      'task_assigned:x',
      'task_comment:x',
      'task_blockers_resolved:x',
      'decision:x',
    ]) {
      for (const caller of [office.user, pick(office.asAgents)])
        expect((await caller.post('/v1/wakes', { ...wake, idempotencyKey })).status).toBe(403);
      reveille().clock.advance(COALESCING_WINDOW_MS);
      expect((await office.admin.post('/v1/wakes', { ...wake, idempotencyKey })).status).toBe(201);
    }
  });
});
