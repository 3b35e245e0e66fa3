import { Transactions } from '../../src/database/transactions.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { allowanceOf } from '../../src/scheduler/allowance.js';
import type { Decision } from '../../src/scheduler/decision.js';
import { AssignmentAllowanceGate } from '../../src/scheduler/gates/assignment-allowance.gate.js';
import { RunQueue } from '../../src/scheduler/run-queue.js';
import { StepwiseFacts } from '../../src/scheduler/stepwise-facts.js';
import { type Wake, wakeOf } from '../../src/scheduler/wake.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, agentAssignment, outcomes, userAssignment } from '../support/wakes.js';

/** More than any pool has connections. */
const MANY = 64;

const numbered = (count: number) => [...Array(count).keys()];

onEachDatabase('wakes at the same time', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());

  const expectNeverEarly = (decisions: readonly Decision[]) => {
    for (const { outcome, allowance } of decisions) {
      const observed = allowance?.observed ?? -1;
      expect({ outcome, hasRoom: observed < ALLOWANCE_LIMIT }).toEqual(
        outcome === 'queued'
          ? { outcome: 'queued', hasRoom: true }
          : { outcome: 'rate_limited', hasRoom: false },
      );
    }
  };

  describe('that are the same', () => {
    it('COALESCING-10, COALESCING-11 end in one run that has counted and kept each of them', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const decisions = await Promise.all(numbered(MANY).map(() => office.wake({ agentProfileId })));
      expect(outcomes(decisions)).toEqual({ queued: 1, coalesced: MANY - 1 });
      const [run, ...others] = await office.runs();
      expect(others).toEqual([]);
      expect(run).toMatchObject({ coalescedCount: MANY });
      expect(new Set(decisions.map(({ runId }) => runId))).toEqual(new Set([run?.id]));
      const kept = await office.sql<unknown[]>('SELECT id FROM run_wakes WHERE run_id = $1', [run?.id ?? '']);
      expect(kept).toHaveLength(MANY);
    });

    it('COALESCING-10 end in one run when they are about no task', async () => {
      const office = await open();
      const wake = { agentProfileId: await office.agent(), reason: 'heartbeat', payload: '{}' };
      const decisions = await Promise.all(numbered(MANY).map(() => office.wake(wake)));
      expect(outcomes(decisions)).toEqual({ queued: 1, coalesced: MANY - 1 });
      expect(await office.runs()).toMatchObject([{ coalescedCount: MANY }]);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.5 use allowance once under one key, and none of them fails', async () => {
      const office = await open();
      const wake = { agentProfileId: await office.agent(), idempotencyKey: 'k' };
      const decisions = await Promise.all(numbered(MANY).map(() => office.wake(wake)));
      expect(outcomes(decisions)).toEqual({ queued: 1, deduped: MANY - 1 });
      expect(await office.runs()).toMatchObject([{ idempotencyKey: 'k', coalescedCount: 1 }]);
      expect((await office.wake()).allowance).toMatchObject({ observed: 1 });
    });
  });

  describe('under one key from two producers', () => {
    it('RUN-DEDUP-3 end in one run that both are told of, without an error', async () => {
      const office = await open();
      const agents = await office.agents(2);
      const race = async () => {
        const wakes = agents.map((agentProfileId) => office.wake({ agentProfileId, idempotencyKey: 'k' }));
        const decisions = await Promise.all(wakes);
        expect(outcomes(decisions)).toEqual({ queued: 1, deduped: 1 });
        expect(decisions[0]?.runId).toBe(decisions[1]?.runId);
      };
      expect(await movedBy(reveille(), 'office_wake_decisions_total', race)).toEqual({
        'outcome="queued"': 1,
        'outcome="deduped"': 1,
      });
      expect(await office.runs()).toMatchObject([{ idempotencyKey: 'k' }]);
    });

    it('COALESCING-12 end in the ledger of a run that takes them in, once', async () => {
      const office = await open();
      const run = await office.queued();
      const { agentProfileId } = run;
      const wake = () => office.wake({ agentProfileId, idempotencyKey: 'k' });
      const decisions = await Promise.all([wake(), wake()]);
      expect(outcomes(decisions)).toEqual({ coalesced: 1, deduped: 1 });
      expect(decisions.map(({ runId }) => runId)).toEqual([run.id, run.id]);
      expect(await office.runs()).toMatchObject([{ idempotencyKey: null, coalescedCount: 2 }]);
    });
  });

  describe('for one task', () => {
    it('AC-OFFICE-ASSIGN-RATE-002.1 both pass the gate when one share is left and neither of them is inserted yet', async () => {
      const office = await open();
      await office.spend(ALLOWANCE_LIMIT - 1);
      const wakes = (await office.agents(2)).map((agentProfileId) =>
        wakeOf(
          { agentProfileId, reason: 'task_assigned', payload: agentAssignment(office.taskId) },
          reveille().clock.now(),
        ),
      );
      const [gate, facts] = [reveille().get(AssignmentAllowanceGate), reveille().get(StepwiseFacts)];
      const verdicts = await Promise.all(wakes.map((wake) => gate.judge(wake, facts.about(wake))));
      const pass = { kind: 'pass', allowance: allowanceOf(ALLOWANCE_LIMIT - 1) };
      expect(verdicts).toEqual([pass, pass]);

      const insert = (wake: Wake) => reveille().get(RunQueue).insert(wake, office.workspaceId);
      await reveille()
        .get(Transactions)
        .run(() => Promise.all(wakes.map(insert)));
      expect(await office.wake()).toMatchObject({
        outcome: 'rate_limited',
        allowance: { observed: ALLOWANCE_LIMIT + 1 },
      });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.1 exceed N by their number at most when one share is left', async () => {
      const office = await open();
      await office.spend(ALLOWANCE_LIMIT - 1);
      const agents = await office.agents(MANY);
      const decisions = await Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId })));
      const { queued = 0 } = outcomes(decisions);
      expect(queued).toBeGreaterThanOrEqual(1);
      expect(queued).toBeLessThanOrEqual(MANY);
      expectNeverEarly(decisions);
      expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT - 1 + queued);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.1 are not refused before N of them are admitted', async () => {
      const office = await open();
      const agents = await office.agents(MANY);
      const decisions = await Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId })));
      expectNeverEarly(decisions);
      const { queued = 0 } = outcomes(decisions);
      expect(queued).toBeGreaterThanOrEqual(ALLOWANCE_LIMIT);
      expect(await office.runs()).toHaveLength(queued);
    });

    it.each(numbered(ALLOWANCE_LIMIT).map((index) => index + 1))(
      'AC-OFFICE-ASSIGN-RATE-002.1 are all admitted when they are %d and nobody came before',
      async (count) => {
        const office = await open();
        const agents = await office.agents(count);
        const decisions = await Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId })));
        expect(outcomes(decisions)).toEqual({ queued: count });
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-001.1 are all admitted when people made them, whatever agents have spent', async () => {
      const office = await open();
      await office.exhaust();
      const agents = await office.agents(MANY);
      const payload = userAssignment(office.taskId);
      const decisions = await Promise.all(
        agents.map((agentProfileId) => office.wake({ agentProfileId, payload })),
      );
      expect(outcomes(decisions)).toEqual({ queued: MANY });
    });
  });

  describe('for many tasks', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.3 do not spend each other’s allowance', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const decisions = await Promise.all(
        numbered(MANY).map((task) =>
          office.wake({ agentProfileId, payload: agentAssignment(`task-${task}`) }),
        ),
      );
      expect(outcomes(decisions)).toEqual({ queued: MANY });
      expect(decisions.every(({ allowance }) => allowance?.observed === 0)).toBe(true);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.1 keep all promises at once', async () => {
      const office = await open();
      const tasks = ['a', 'b', 'c', 'd'];
      const agents = await office.agents(8);
      const decisions = await Promise.all(
        tasks.flatMap((task) =>
          agents.flatMap((agentProfileId) =>
            ['k1', null].map((key) =>
              office.wake({
                agentProfileId,
                payload: agentAssignment(task),
                idempotencyKey: key === null ? null : `${key}:${task}:${agentProfileId}`,
              }),
            ),
          ),
        ),
      );
      const runs = await office.runs();
      expect(runs).toHaveLength(outcomes(decisions).queued ?? 0);
      for (const task of tasks) {
        const own = runs.filter(({ taskId }) => taskId === task);
        expect(own).toHaveLength(ALLOWANCE_LIMIT);
        expect(new Set(own.map(({ agentProfileId }) => agentProfileId)).size).toBe(own.length);
      }
    });
  });
});
