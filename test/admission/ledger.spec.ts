import { RunsService } from '../../src/runs/runs.service.js';
import {
  ALLOWANCE_LIMIT,
  COALESCING_WINDOW_MS,
  IDEMPOTENCY_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { statementsOf } from '../support/statements.js';
import { ASSIGNER, Workplace, agentAssignment, userAssignment } from '../support/wakes.js';

const MINUTE_MS = 60_000;
const DEDUPS = 'office_run_dedup_total';

onEachDatabase('the ledger of merged wakes', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const advance = (ms: number) => {
    reveille().clock.advance(ms);
  };
  const wakesOf = async (runId: string) => {
    const runs = reveille().get(RunsService);
    return runs.wakesOf(await runs.get(runId));
  };
  const rowsOf = async (office: Workplace, runId: string) => {
    const rows = await office.sql<unknown[]>('SELECT id FROM run_wakes WHERE run_id = $1', [runId]);
    return rows.length;
  };

  /** An office, and a run under key k1 that a wake under key k2 was merged into. */
  const merged = async () => {
    const office = await Workplace.open(reveille());
    const run = await office.queued({ idempotencyKey: 'k1' });
    const { agentProfileId } = run;
    advance(1);
    const wake = { agentProfileId, payload: userAssignment(office.taskId), idempotencyKey: 'k2' };
    expect(await office.wake(wake)).toMatchObject({ outcome: 'coalesced', runId: run.id });
    return { office, run, agentProfileId };
  };

  describe('keeps', () => {
    it('COALESCING-11 each wake with its own payload, actor, key and instant, oldest first', async () => {
      const { office, run, agentProfileId } = await merged();
      const { taskId } = office;
      advance(1);
      await office.wake({ agentProfileId, payload: JSON.stringify({ task_id: taskId, more: 1 }) });
      const facts = { runId: run.id, workspaceId: office.workspaceId, keyScope: '' };
      expect(await wakesOf(run.id)).toMatchObject([
        {
          ...facts,
          payload: agentAssignment(taskId),
          actorType: 'agent',
          actorId: ASSIGNER,
          idempotencyKey: 'k1',
          requestedAt: run.requestedAt,
        },
        {
          ...facts,
          payload: userAssignment(taskId),
          actorType: 'user',
          actorId: 'a-person',
          idempotencyKey: 'k2',
          requestedAt: run.requestedAt + 1,
        },
        {
          ...facts,
          payload: JSON.stringify({ task_id: taskId, more: 1 }),
          actorType: null,
          actorId: null,
          idempotencyKey: null,
          requestedAt: run.requestedAt + 2,
        },
      ]);
    });

    it('COALESCING-11 the order of wakes that came in one instant', async () => {
      const office = await Workplace.open(reveille());
      const agentProfileId = await office.agent();
      const wake = (n: number) =>
        office.wake({ agentProfileId, payload: JSON.stringify({ task_id: office.taskId, n }) });
      const decisions = [];
      for (let n = 0; n < 12; n += 1) decisions.push(await wake(n));
      const kept = await wakesOf(pick(decisions).runId ?? '');
      expect(kept.map(({ payload }) => (JSON.parse(payload) as { n: number }).n)).toEqual([
        ...decisions.keys(),
      ]);
    });

    it('COALESCING-11 each key with its own wake when the clock of the server that merges is behind', async () => {
      const office = await Workplace.open(reveille());
      const run = await office.queued({ idempotencyKey: 'k1' });
      const { agentProfileId } = run;
      const payload = userAssignment(office.taskId);
      advance(-1);
      expect(await office.wake({ agentProfileId, payload })).toMatchObject({ outcome: 'coalesced' });
      const kept = await wakesOf(run.id);
      expect(new Map(kept.map((wake) => [wake.payload, wake.idempotencyKey]))).toEqual(
        new Map([
          [run.payload, 'k1'],
          [payload, null],
        ]),
      );
    });

    it('COALESCING-11 a wake that was never merged in its run’s own row', async () => {
      const office = await Workplace.open(reveille());
      const run = await office.queued({ idempotencyKey: 'k1' });
      expect(await rowsOf(office, run.id)).toBe(0);
      expect(await wakesOf(run.id)).toEqual([expect.objectContaining({ idempotencyKey: 'k1' })]);
      expect(run).toMatchObject({
        payload: agentAssignment(office.taskId),
        actorType: 'agent',
        actorId: ASSIGNER,
        idempotencyKey: 'k1',
      });
    });

    it('COALESCING-11 everything for whoever claims the run', async () => {
      const office = await Workplace.open(reveille());
      const agentProfileId = await office.agent();
      const payloads = [1, 2, 3].map((n) => agentAssignment('somebody else’s task', `agent-${n}`));
      for (const payload of payloads) await office.wake({ agentProfileId, payload });
      const { workspaceId } = office;
      const request = { workspaceId, agentProfileIds: null, workerId: 'w', bearerTokenId: 'b' };
      const [claim] = await reveille().get(RunsService).claim(request);
      expect(claim?.wakes.map(({ payload }) => payload)).toEqual(payloads);
      expect(claim?.run.coalescedCount).toBe(payloads.length);
    });

    it('COALESCING-11 nothing of a wake that was refused or recognised', async () => {
      const { office, run } = await merged();
      await office.spend(ALLOWANCE_LIMIT);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      expect(await office.wake({ idempotencyKey: 'k2' })).toMatchObject({ outcome: 'deduped' });
      expect(await rowsOf(office, run.id)).toBe(2);
    });

    it('COALESCING-11 nothing of a merge that fails on the way, and leaves the run as it was', async () => {
      const office = await Workplace.open(reveille());
      const run = await office.queued();
      const { agentProfileId } = run;
      const wake = () => office.wake({ agentProfileId, payload: userAssignment(office.taskId) });
      await expect(whileFailing(reveille(), SHAPES.note, wake)).rejects.toMatchObject({
        name: 'QueryFailedError',
      });
      expect(await office.runs()).toEqual([run]);
      expect(await rowsOf(office, run.id)).toBe(0);
      expect(await wake()).toMatchObject({ outcome: 'coalesced' });
      expect(await rowsOf(office, run.id)).toBe(2);
    });
  });

  describe('is not counted', () => {
    it('COALESCING-11 by the allowance, which counts the one run', async () => {
      const office = await Workplace.open(reveille());
      const { agentProfileId } = await office.queued();
      for (let wake = 0; wake < ALLOWANCE_LIMIT; wake += 1) await office.wake({ agentProfileId });
      const fresh = await office.agent();
      const sent = await statementsOf(reveille(), async () => {
        expect((await office.wake({ agentProfileId: fresh })).allowance).toMatchObject({ observed: 1 });
      });
      expect(sent.filter(({ sql }) => SHAPES.count.test(sql) && sql.includes('run_wakes'))).toEqual([]);
    });
  });

  describe('remembers keys', () => {
    it.each(['k1', 'k2'])(
      'COALESCING-12 so that %s, delivered again, is recognised and the surviving run named',
      async (idempotencyKey) => {
        const { office, run, agentProfileId } = await merged();
        const before = await office.run(run.id);
        const moved = await movedBy(reveille(), DEDUPS, async () => {
          expect(await office.wake({ agentProfileId, idempotencyKey })).toEqual({
            outcome: 'deduped',
            admitted: false,
            runId: run.id,
            runStatus: 'queued',
            gate: 'idempotency',
            allowance: null,
          });
        });
        expect(moved).toEqual({ 'reason="task_assigned",kind="windowed",queue="runs"': 1 });
        expect(await office.runs()).toEqual([before]);
        expect(await rowsOf(office, run.id)).toBe(2);
      },
    );

    it.each([COALESCING_WINDOW_MS, MINUTE_MS, IDEMPOTENCY_WINDOW_MS - 1])(
      'COALESCING-12 %d ms after the merge',
      async (later) => {
        const { office, run } = await merged();
        advance(later);
        const again = { idempotencyKey: 'k2', payload: '{}' };
        expect(await office.wake(again)).toMatchObject({ outcome: 'deduped', runId: run.id });
      },
    );

    it.each(['claimed', 'finished', 'failed', 'cancelled'])(
      'COALESCING-12 when the run is %s meanwhile',
      async (status) => {
        const { office, run } = await merged();
        await office.alter(run.id, { status });
        const again = await office.wake({ idempotencyKey: 'k2' });
        expect(again).toMatchObject({ outcome: 'deduped', runId: run.id, runStatus: status });
      },
    );

    it('COALESCING-12 of its own workspace and scope only', async () => {
      const { office, run } = await merged();
      const other = await Workplace.open(reveille());
      expect(await other.wake({ idempotencyKey: 'k2' })).toMatchObject({ outcome: 'queued' });
      expect(await office.wake({ idempotencyKey: 'k2', keyScope: 'agent-1' })).toMatchObject({
        outcome: 'queued',
      });
      expect(await office.wake({ idempotencyKey: 'k2' })).toMatchObject({ runId: run.id });
    });

    it('COALESCING-12 and not those that were never merged', async () => {
      const { office, agentProfileId } = await merged();
      advance(COALESCING_WINDOW_MS);
      for (const idempotencyKey of ['k', 'k22', 'K2', ' k2'])
        expect(await office.wake({ agentProfileId: await office.agent(), idempotencyKey })).toMatchObject({
          outcome: expect.not.stringMatching('deduped') as string,
        });
      expect(await office.wake({ agentProfileId, idempotencyKey: 'k2' })).toMatchObject({
        outcome: 'deduped',
      });
    });

    it('COALESCING-12 until the run is deleted, which frees the merged key and its own', async () => {
      const { office, run, agentProfileId } = await merged();
      await office.delete(run.id);
      expect(await rowsOf(office, run.id)).toBe(0);
      for (const idempotencyKey of ['k1', 'k2']) {
        expect(await office.wake({ agentProfileId, idempotencyKey })).toMatchObject({ outcome: 'queued' });
        advance(COALESCING_WINDOW_MS);
      }
    });

    it('AC-OFFICE-ASSIGN-RATE-002.5 so that a merged wake, delivered again later, uses no allowance', async () => {
      const office = await Workplace.open(reveille());
      const { agentProfileId } = await office.queued({ idempotencyKey: 'k1' });
      await office.wake({ agentProfileId, idempotencyKey: 'k2' });
      advance(MINUTE_MS);
      await office.wake({ agentProfileId, idempotencyKey: 'k2' });
      expect((await office.wake()).allowance).toMatchObject({ observed: 1 });
    });
  });

  describe('does not mind old keys', () => {
    /** Delivers k2 again after its look-back, when the run that it was merged into is long past. */
    const redeliveredLate = async () => {
      const { office, run, agentProfileId } = await merged();
      await office.alter(run.id, { status: 'finished' });
      advance(IDEMPOTENCY_WINDOW_MS);
      return { office, run, agentProfileId };
    };

    it('COALESCING-12 so neither a late redelivery of a merged key fails nor the wakes that follow it', async () => {
      const { office, agentProfileId } = await redeliveredLate();
      const late = await office.wake({ agentProfileId, idempotencyKey: 'k2' });
      expect(late.outcome).toMatch(/^(queued|deduped)$/);
      expect(await office.wake({ agentProfileId })).toMatchObject({
        outcome: late.admitted ? 'coalesced' : 'queued',
      });
      expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
    });

    it('COALESCING-12 so a key that was merged away long ago is not merged a second time', async () => {
      const { office, run, agentProfileId } = await redeliveredLate();
      const { id } = await office.queued({ agentProfileId });
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        const again = await office.wake({ agentProfileId, idempotencyKey: 'k2' });
        expect(again).toMatchObject({ outcome: 'deduped', runId: run.id, gate: 'insert' });
      });
      expect(moved).toEqual({ 'reason="task_assigned",kind="durable",queue="runs"': 1 });
      expect(await office.run(id)).toMatchObject({ coalescedCount: 1 });
      expect(await rowsOf(office, id)).toBe(0);
    });
  });
});
