import { ALLOWANCE_LIMIT, COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { type LogLine, RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';
import {
  type ReactionView,
  type TaskUpdate,
  assign,
  block,
  comment,
  keptBy,
  newTask,
  patch,
  runsAbout,
  seat,
  told,
} from '../support/tasks.js';

const LEASE_MS = 30_000;

onEachDatabase('what a mutation tells of the wakes it asked for', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const stand = (office: Office, agentProfileId: string, status: string) =>
    office.user.patch(`/v1/agents/${agentProfileId}`, { status });

  /** A task that nothing but its end holds up, and whose assignee is given. */
  async function waiting(office: Office, blocker: string, assigneeAgentProfileId: string): Promise<string> {
    const taskId = await newTask(office, { assigneeAgentProfileId });
    await block(office, taskId, blocker);
    return taskId;
  }

  /** Uses up what agents may wake each other with about the office's task. */
  async function exhaust(office: Office): Promise<void> {
    for (let hop = 0; hop < ALLOWANCE_LIMIT; hop++) {
      await assign(pick(office.asAgents), office.taskId, pick(office.agents));
      reveille().clock.advance(COALESCING_WINDOW_MS);
    }
  }

  it('AC-OFFICE-ASSIGN-RATE-001.6, AC-OFFICE-ASSIGN-RATE-003.5 each of them, whatever became of it', async () => {
    const office = await anOffice(reveille(), 3);
    const [actor, agent, paused] = [pick(office.agents), pick(office.agents, 1), pick(office.agents, 2)];
    const { taskId } = office;
    await exhaust(office);
    const known = await waiting(office, taskId, agent);
    const grown = await waiting(office, taskId, agent);
    await patch(office.user, taskId, { state: 'COMPLETED' });
    await patch(office.user, taskId, { state: 'TODO' });
    // One more blocker makes it another occurrence, which finds the run of the first.
    await block(office, grown, await newTask(office, { state: 'COMPLETED' }));
    const fresh = await waiting(office, taskId, agent);
    const idle = await waiting(office, taskId, paused);
    expect((await stand(office, paused, 'paused')).status).toBe(200);

    const { reactions } = await patch(pick(office.asAgents), taskId, {
      state: 'COMPLETED',
      assigneeAgentProfileId: agent,
      comment: { body: 'Done.', mentions: [actor, agent, paused] },
    });

    const outcomes = reactions.map(({ reason, outcome, error }) => [reason, outcome, error]);
    expect(outcomes.slice(0, 4).sort()).toEqual([
      ['task_blockers_resolved', 'coalesced', null],
      ['task_blockers_resolved', 'deduped', null],
      ['task_blockers_resolved', 'none', 'agent_not_runnable'],
      ['task_blockers_resolved', 'queued', null],
    ]);
    expect(outcomes.slice(4)).toEqual([
      ['task_assigned', 'rate_limited', null],
      ['task_mentioned', 'queued', null],
      ['task_mentioned', 'none', 'agent_not_runnable'],
    ]);
    for (const { outcome, runId } of reactions)
      expect(runId !== null).toBe(['queued', 'coalesced', 'deduped'].includes(outcome));
    expect(await Promise.all([known, grown, fresh, idle].map((id) => runsAbout(office, id)))).toMatchObject([
      [{ status: 'queued' }],
      [{ status: 'queued' }],
      [{ status: 'queued' }],
      [],
    ]);
  });

  it('goes on after a recipient that does not run, which is woken once it does', async () => {
    const office = await anOffice(reveille(), 3);
    const [first, second] = [pick(office.agents, 1), pick(office.agents, 2)];
    const taskId = await newTask(office, { state: 'IN_PROGRESS' });
    await seat(office, taskId, first, 'reviewer');
    await seat(office, taskId, second, 'approver');
    await stand(office, first, 'paused');
    const { reactions } = await patch(office.user, taskId, { state: 'REVIEW' });
    expect(told(reactions)).toEqual([
      ['task_review_requested', first, 'none'],
      ['task_review_requested', second, 'queued'],
    ]);
    await sweepLater();
    expect(await runsAbout(office, taskId)).toHaveLength(1);
    await stand(office, first, 'idle');
    await sweepLater();
    expect((await runsAbout(office, taskId)).map(({ agentProfileId }) => agentProfileId)).toEqual([
      second,
      first,
    ]);
  });

  async function sweepLater(): Promise<void> {
    reveille().clock.advance(LEASE_MS);
    await reveille().get(Sweeps).sweep();
  }

  /** Lets the database refuse the first run that `work` inserts. */
  function refusingOneRun<T>(work: () => Promise<T>): Promise<T> {
    let refused = 0;
    return intercepting(
      reveille(),
      (statement) =>
        statement.sql.startsWith('INSERT INTO "runs"') && refused++ === 0
          ? { sql: 'SELECT 1 FROM a_table_that_is_not_there', parameters: [] }
          : statement,
      work,
    );
  }

  it('goes on after a wake that fails, logs it, and tries it again', async () => {
    const office = await anOffice(reveille());
    const mentions = [pick(office.agents), pick(office.agents, 1)];
    const logger = RecordingLogger.of(reveille());
    let reactions: readonly ReactionView[] = [];
    let lines: readonly LogLine[] = [];
    await refusingOneRun(async () => {
      lines = await logger.during(async () => {
        ({ reactions } = await comment(office.user, office.taskId, { mentions }));
      }, 'Reactivity');
    });
    expect(reactions).toMatchObject([
      { agentProfileId: mentions[0], outcome: 'none', runId: null, error: 'internal' },
      { agentProfileId: mentions[1], outcome: 'queued', error: null },
    ]);
    expect(lines).toEqual([expect.objectContaining({ level: 'error' })]);
    await sweepLater();
    const runs = await runsAbout(office, office.taskId);
    expect(runs.map(({ agentProfileId }) => agentProfileId)).toEqual([mentions[1], mentions[0]]);
    expect((await keptBy(reveille(), office)).notes).toEqual([]);
  });

  describe('who acted', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.1, AC-OFFICE-ASSIGN-RATE-001.13 is the token’s to say, and never the body’s', async () => {
      const office = await anOffice(reveille());
      const me = await office.user.get<{ id: string }>('/v1/me');
      const body = { assigneeAgentProfileId: pick(office.agents, 1) };
      for (const field of ['actor_type', 'actorType', 'actor_id', 'actorId', 'callerAgentId', 'payload'])
        expect(
          await pick(office.asAgents).patch(`/v1/tasks/${office.taskId}`, { ...body, [field]: 'user' }),
        ).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      for (const [caller, actor] of [
        [pick(office.asAgents), { actor_type: 'agent', actor_id: office.agents[0] }],
        [office.user, { actor_type: 'user', actor_id: me.body.id }],
      ] as const) {
        reveille().clock.advance(COALESCING_WINDOW_MS);
        const { reactions } = await patch(caller, office.taskId, body);
        const run = await office.user.get(`/v1/runs/${pick(reactions).runId ?? ''}`);
        expect(run.body).toMatchObject({
          actorType: actor.actor_type,
          payload: {
            reason: 'task_assigned',
            task_id: office.taskId,
            workspace_id: office.workspaceId,
            ...actor,
          },
        });
      }
    });

    it('AC-OFFICE-ASSIGN-RATE-001.1 is a person wherever it is not an agent, however much was assigned before', async () => {
      const office = await anOffice(reveille());
      await exhaust(office);
      const tokens = `/v1/workspaces/${office.workspaceId}/tokens`;
      const namesake = { kind: 'user', name: 'namesake', subject: pick(office.agents) };
      const { token } = (await office.admin.post<{ token: string }>(tokens, namesake)).body;
      const updates: TaskUpdate[] = [];
      for (const caller of [office.user, office.admin, office.admin.as(token)]) {
        updates.push(await assign(caller, office.taskId, pick(office.agents, 1)));
        reveille().clock.advance(COALESCING_WINDOW_MS);
      }
      updates.push(await assign(pick(office.asAgents), office.taskId, pick(office.agents, 1)));
      expect(updates.flatMap(({ reactions }) => reactions.map(({ outcome }) => outcome))).toEqual([
        'queued',
        'queued',
        'queued',
        'rate_limited',
      ]);
    });
  });
});
