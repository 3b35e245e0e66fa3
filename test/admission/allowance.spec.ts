import { ALLOWANCE_LIMIT, ALLOWANCE_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, agentAssignment, outcomes, userAssignment } from '../support/wakes.js';

/** Too long for any merge, and well inside the allowance's window. */
const MINUTE_MS = 60_000;

onEachDatabase('the allowance', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());
  const advance = (ms: number) => {
    reveille().clock.advance(ms);
  };
  const observed = async (office: Workplace) => (await office.wake()).allowance?.observed;

  describe('is spent', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.2, AC-OFFICE-ASSIGN-RATE-001.6 by N agent-made assignments of one task, and refuses the next', async () => {
      const office = await open();
      const decisions = [];
      for (let wake = 0; wake < ALLOWANCE_LIMIT; wake += 1) decisions.push(await office.wake());
      expect(outcomes(decisions)).toEqual({ queued: ALLOWANCE_LIMIT });
      expect(decisions.map(({ allowance }) => allowance?.observed)).toEqual([...decisions.keys()]);
      const runs = await office.runs();
      expect(await office.wake()).toEqual({
        outcome: 'rate_limited',
        admitted: false,
        runId: null,
        runStatus: null,
        gate: 'assignment_allowance',
        allowance: {
          limit: ALLOWANCE_LIMIT,
          windowSeconds: ALLOWANCE_WINDOW_MS / 1000,
          observed: ALLOWANCE_LIMIT,
          retryAt: reveille().clock.now() + ALLOWANCE_WINDOW_MS,
        },
      });
      expect(await office.runs()).toEqual(runs);
      expect(runs).toHaveLength(ALLOWANCE_LIMIT);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 by all assignees together: a used one and a new one are refused alike', async () => {
      const office = await open();
      const first = pick(await office.exhaust());
      advance(MINUTE_MS);
      expect(await office.wake({ agentProfileId: first.agentProfileId })).toMatchObject({
        outcome: 'rate_limited',
      });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 by two agents that hand a task back and forth', async () => {
      const office = await open();
      const pair = await office.agents(2);
      const decisions = [];
      for (let turn = 0; turn < ALLOWANCE_LIMIT + 2; turn += 1) {
        const [assignee, assigner] = [pick(pair, turn % 2), pick(pair, (turn + 1) % 2)];
        const payload = agentAssignment(office.taskId, assigner);
        decisions.push(await office.wake({ agentProfileId: assignee, payload }));
        advance(MINUTE_MS);
      }
      expect(outcomes(decisions)).toEqual({ queued: ALLOWANCE_LIMIT, rate_limited: 2 });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 task by task', async () => {
      const office = await open();
      await office.exhaust();
      expect(await office.wake({ payload: agentAssignment('another task') })).toMatchObject({
        outcome: 'queued',
        allowance: { observed: 0 },
      });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 by ids that are the same letter by letter', async () => {
      const office = await open();
      const payload = agentAssignment('Task-1');
      await office.exhaust({ payload });
      expect(await office.wake({ payload })).toMatchObject({ outcome: 'rate_limited' });
      for (const other of ['task-1', 'Task-1 ', ' Task-1', 'Task-', 'Task-_', 'Task-%', 'Tásk-1', 'Task-11'])
        expect(await office.wake({ payload: agentAssignment(other) })).toMatchObject({
          allowance: { observed: 0 },
        });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 in its own workspace only, though another names the same id', async () => {
      const [mine, other] = [await open(), await open()];
      await mine.exhaust();
      const payload = agentAssignment(mine.taskId);
      expect(await other.wake({ payload })).toMatchObject({ outcome: 'queued', allowance: { observed: 0 } });
      expect(await mine.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it.each([
      ['without keys', () => null],
      ['with a key each', (wake: number) => `key-${wake}`],
      ['with a comment’s key each', (wake: number) => `task_comment:${wake}`],
    ])('AC-OFFICE-ASSIGN-RATE-001.8 by wakes %s', async (_how, keyOf) => {
      const office = await open();
      for (let wake = 0; wake < ALLOWANCE_LIMIT; wake += 1)
        await office.queued({ idempotencyKey: keyOf(wake) });
      expect(await office.wake({ idempotencyKey: keyOf(ALLOWANCE_LIMIT) })).toMatchObject({
        outcome: 'rate_limited',
      });
    });

    it.each(['queued', 'claimed', 'finished', 'failed', 'cancelled'])(
      'AC-OFFICE-ASSIGN-RATE-001.4 by runs that are %s, whatever became of them',
      async (status) => {
        const office = await open();
        for (const { id } of await office.exhaust())
          await office.alter(id, { status, retry_count: 1, attempt: 2 });
        expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-001.4 but not again by a run that is put back and waits for a retry', async () => {
      const office = await open();
      const { id } = await office.queued();
      await office.alter(id, { status: 'failed' });
      await office.alter(id, { status: 'queued', retry_count: 1, scheduled_retry_at: 1 });
      expect(await observed(office)).toBe(1);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 but not by refusals', async () => {
      const office = await open();
      await office.exhaust();
      for (let refusal = 0; refusal < 3; refusal += 1)
        expect((await office.wake()).allowance).toMatchObject({ observed: ALLOWANCE_LIMIT });
      advance(ALLOWANCE_WINDOW_MS);
      const decisions = [];
      for (let wake = 0; wake <= ALLOWANCE_LIMIT; wake += 1) decisions.push(await office.wake());
      expect(outcomes(decisions)).toEqual({ queued: ALLOWANCE_LIMIT, rate_limited: 1 });
    });
  });

  describe('counts', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.2 assignments of the task by agents and nothing else', async () => {
      const office = await open();
      const { taskId } = office;
      await office.spend(2);
      await office.queued({ payload: userAssignment(taskId) });
      await office.queued({ payload: JSON.stringify({ task_id: taskId }) });
      await office.queued({ payload: JSON.stringify({ actor_type: 'agent' }) });
      await office.queued({ payload: agentAssignment('another task') });
      await office.queued({ reason: 'task_comment' });
      await office.queued({ reason: 'task_assigned_again' });
      expect(await observed(office)).toBe(2);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.10 rows of one instant one by one', async () => {
      const office = await open();
      const runs = await office.spend(ALLOWANCE_LIMIT - 1);
      expect(new Set(runs.map(({ requestedAt }) => requestedAt))).toEqual(new Set([reveille().clock.now()]));
      expect(await observed(office)).toBe(ALLOWANCE_LIMIT - 1);
    });

    it.each([
      ['in the order of their ids', (index: number) => index],
      ['against the order of their ids', (index: number) => 9 - index],
    ])('AC-OFFICE-ASSIGN-RATE-001.10 rows of one instant %s to the same verdict', async (_order, rankOf) => {
      const office = await open();
      for (const [index, { id }] of (await office.spend(ALLOWANCE_LIMIT - 1)).entries())
        await office.alter(id, { id: `${rankOf(index)}-${id}` });
      expect(await office.wake()).toMatchObject({ outcome: 'queued' });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.10 to the same verdict whether the oldest or the newest row arrived last', async () => {
      const office = await open();
      const instants = [3, 1, 4, 0, 2].map((minutes) => reveille().clock.now() - minutes * MINUTE_MS);
      for (const [index, run] of (await office.exhaust()).entries())
        await office.alter(run.id, { requested_at: pick(instants, index % instants.length) });
      const { outcome, allowance } = await office.wake();
      expect(outcome).toBe('rate_limited');
      expect(allowance?.retryAt).toBe(Math.min(...instants) + ALLOWANCE_WINDOW_MS);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.4 stored rows: deleting one makes room for one', async () => {
      const office = await open();
      const first = pick(await office.exhaust());
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      await office.delete(first.id);
      expect(await office.wake()).toMatchObject({
        outcome: 'queued',
        allowance: { observed: ALLOWANCE_LIMIT - 1 },
      });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.4 stored rows, also when somebody else has stored them', async () => {
      const office = await open();
      const run = await office.queued();
      for (let copy = 1; copy < ALLOWANCE_LIMIT; copy += 1) await office.copy(run.id);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it.each([
      'not json',
      '',
      '{"task_id":42,"actor_type":"agent"}',
      '[]',
      '{"task_id":',
      '\\u0000',
      '{"a":1}}',
    ])(
      'AC-OFFICE-ASSIGN-RATE-001.2 past a stored payload that says %j, whoever wrote it',
      async (payload) => {
        const office = await open();
        const run = pick(await office.spend(ALLOWANCE_LIMIT - 1));
        await office.copy(run.id, { payload, task_id: null, actor_type: 'agent' });
        await office.copy(run.id, { payload, task_id: null, actor_type: null });
        await office.copy(run.id, { payload, task_id: 'another task', actor_type: 'agent' });
        expect(await office.wake()).toMatchObject({
          outcome: 'queued',
          allowance: { observed: ALLOWANCE_LIMIT - 1 },
        });
        expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      },
    );
  });

  describe('after a merge that changes the actor', () => {
    const merge = async (office: Workplace, stored: string, incoming: string) => {
      const run = await office.queued({ payload: stored });
      const { agentProfileId } = run;
      const decision = await office.wake({ agentProfileId, payload: incoming });
      expect(decision).toMatchObject({ outcome: 'coalesced', runId: run.id });
      const { requestedAt } = await office.run(run.id);
      expect(requestedAt).toBe(run.requestedAt);
    };

    it('AC-OFFICE-ASSIGN-RATE-001.4 counts one more: an agent’s wake has made a person’s run its own', async () => {
      const office = await open();
      const { taskId } = office;
      await office.spend(ALLOWANCE_LIMIT - 1);
      await merge(office, userAssignment(taskId), agentAssignment(taskId));
      expect(await office.wake()).toMatchObject({
        outcome: 'rate_limited',
        allowance: { observed: ALLOWANCE_LIMIT },
      });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 counts one less: a person’s wake has made an agent’s run its own', async () => {
      const office = await open();
      const { taskId } = office;
      await office.spend(ALLOWANCE_LIMIT - 1);
      await merge(office, agentAssignment(taskId), userAssignment(taskId));
      expect(await office.wake()).toMatchObject({
        outcome: 'queued',
        allowance: { observed: ALLOWANCE_LIMIT - 1 },
      });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 counts one less after a wake that names no actor', async () => {
      const office = await open();
      await merge(office, agentAssignment(office.taskId), JSON.stringify({ task_id: office.taskId }));
      expect(await observed(office)).toBe(0);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 counts what is there when the actor does not change', async () => {
      const office = await open();
      await merge(office, agentAssignment(office.taskId), agentAssignment(office.taskId, 'another agent'));
      await merge(office, userAssignment(office.taskId), userAssignment(office.taskId));
      expect(await observed(office)).toBe(1);
    });
  });
});
