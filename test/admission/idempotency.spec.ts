import { Transactions } from '../../src/database/transactions.js';
import { IDEMPOTENCY_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, agentAssignment } from '../support/wakes.js';

/** Too long for any merge, and nothing to the look-back. */
const MINUTE_MS = 60_000;

const DEDUPS = 'office_run_dedup_total';
const WINDOWED = { 'reason="task_assigned",kind="windowed",queue="runs"': 1 };
const DURABLE = { 'reason="task_assigned",kind="durable",queue="runs"': 1 };

onEachDatabase('a key', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());
  const advance = (ms: number) => {
    reveille().clock.advance(ms);
  };

  describe('inside the look-back', () => {
    it.each([
      ['at once', 0],
      ['a minute later', MINUTE_MS],
      ['one millisecond before the look-back ends', IDEMPOTENCY_WINDOW_MS - 1],
    ])('RUN-DEDUP-7 marks what is delivered again %s', async (_when, later) => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      advance(later);
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        expect(await office.wake({ idempotencyKey: 'k' })).toEqual({
          outcome: 'deduped',
          admitted: false,
          runId: run.id,
          runStatus: 'queued',
          gate: 'idempotency',
          allowance: null,
        });
      });
      expect(moved).toEqual(WINDOWED);
      expect(await office.runs()).toEqual([run]);
    });

    it('marks a redelivery to another agent or for another reason: the key alone speaks', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      const redelivery = { reason: 'heartbeat', payload: '{}', idempotencyKey: 'k' };
      expect(await office.wake(redelivery)).toMatchObject({ outcome: 'deduped', runId: run.id });
    });

    it.each(['claimed', 'finished', 'failed', 'cancelled'])(
      'marks a redelivery of a wake whose run is %s',
      async (status) => {
        const office = await open();
        const run = await office.queued({ idempotencyKey: 'k' });
        await office.alter(run.id, { status });
        expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({
          outcome: 'deduped',
          runId: run.id,
          runStatus: status,
        });
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-002.5 uses allowance once however often it is delivered', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await office.queued({ agentProfileId, idempotencyKey: 'k' });
      advance(MINUTE_MS);
      for (let times = 0; times < 7; times += 1)
        expect(await office.wake({ agentProfileId, idempotencyKey: 'k' })).toMatchObject({
          outcome: 'deduped',
        });
      expect((await office.wake()).allowance).toMatchObject({ observed: 1 });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.5 uses allowance again each time when it is missing', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await office.queued({ agentProfileId });
      advance(MINUTE_MS);
      expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'queued' });
      expect((await office.wake()).allowance).toMatchObject({ observed: 2 });
    });

    it('does not look for one whose run has been deleted', async () => {
      const office = await open();
      await office.delete((await office.queued({ idempotencyKey: 'k' })).id);
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'queued' });
    });
  });

  describe('beyond the look-back', () => {
    it.each([
      ['exactly as old as the look-back', IDEMPOTENCY_WINDOW_MS],
      ['older than the look-back', IDEMPOTENCY_WINDOW_MS + 60 * MINUTE_MS],
    ])('RUN-DEDUP-7 is decided by the unique index when %s', async (_age, later) => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      advance(later);
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({
          outcome: 'deduped',
          admitted: false,
          runId: run.id,
          gate: 'insert',
        });
      });
      expect(moved).toEqual(DURABLE);
      expect(await office.runs()).toEqual([run]);
      expect(await office.wake({ idempotencyKey: 'another' })).toMatchObject({ outcome: 'queued' });
    });

    it('RUN-DEDUP-7 is kept unique by the database itself, whoever writes', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      await expect(office.copy(run.id, { idempotency_key: 'k', payload: '{}' })).rejects.toMatchObject({
        name: 'QueryFailedError',
      });
      await office.copy(run.id, { idempotency_key: 'another' });
      expect(await office.run(run.id)).toEqual(run);
      expect(await office.runs()).toHaveLength(2);
    });

    it('is free again when its run is deleted', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      advance(IDEMPOTENCY_WINDOW_MS);
      await office.delete(run.id);
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'queued' });
    });

    it('RUN-DEDUP-7 leaves the caller’s transaction usable when the index refuses it', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await office.queued({ agentProfileId, idempotencyKey: 'k' });
      advance(IDEMPOTENCY_WINDOW_MS);
      await reveille()
        .get(Transactions)
        .run(async () => {
          const late = await office.wake({ agentProfileId, idempotencyKey: 'k' });
          expect(late).toMatchObject({ outcome: 'deduped', gate: 'insert' });
          expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'queued' });
        });
      expect(await office.runs()).toHaveLength(2);
    });
  });

  describe('compared', () => {
    it.each(['k:1', 'k', 'k:1:2:3', ' k:1:2', 'K:1:2', 'k:1:%', 'k_1_2', 'ḱ:1:2'])(
      'is not the same as %j, which only looks like it',
      async (other) => {
        const office = await open();
        await office.queued({ idempotencyKey: 'k:1:2' });
        expect(await office.wake({ idempotencyKey: other })).toMatchObject({ outcome: 'queued' });
        expect(await office.wake({ idempotencyKey: 'k:1:2' })).toMatchObject({ outcome: 'deduped' });
        expect(await office.wake({ idempotencyKey: other })).toMatchObject({ outcome: 'deduped' });
      },
    );

    it('leaves a key of the shape without a generation to itself', async () => {
      const office = await open();
      const agent = await office.agent();
      const old = await office.queued({ idempotencyKey: `task_assigned:${office.taskId}:${agent}` });
      const idempotencyKey = `task_assigned:${office.taskId}:${agent}:1`;
      expect(await office.wake({ agentProfileId: agent, idempotencyKey })).toMatchObject({
        outcome: 'queued',
      });
      expect(await office.run(old.id)).toEqual(old);
    });

    it('belongs to one workspace', async () => {
      const [mine, other] = [await open(), await open()];
      await mine.queued({ idempotencyKey: 'k' });
      expect(await other.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'queued' });
      expect(await mine.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'deduped' });
    });

    it('belongs to one scope, inside the look-back and beyond it', async () => {
      const office = await open();
      const scopes = [undefined, 'agent-1', 'agent-1/run-1', 'agent-2'];
      for (const expected of ['queued', 'deduped', 'deduped']) {
        for (const keyScope of scopes)
          expect(await office.wake({ payload: '{}', idempotencyKey: 'k', keyScope })).toMatchObject({
            outcome: expected,
          });
        if (expected === 'deduped') advance(IDEMPOTENCY_WINDOW_MS);
      }
    });
  });

  describe('that is missing', () => {
    it.each([
      ['absent', undefined],
      ['null', null],
      ['empty', ''],
    ])('RUN-DEDUP-5 suppresses nothing when it is %s, and is stored as null', async (_how, none) => {
      const office = await open();
      const agentProfileId = await office.agent();
      const wake = { agentProfileId, idempotencyKey: none };
      await office.queued(wake);
      advance(MINUTE_MS);
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        expect(await office.wake(wake)).toMatchObject({ outcome: 'queued' });
        advance(IDEMPOTENCY_WINDOW_MS);
        expect(await office.wake(wake)).toMatchObject({ outcome: 'queued' });
      });
      expect(moved).toEqual({});
      expect((await office.runs()).map(({ idempotencyKey }) => idempotencyKey)).toEqual([null, null, null]);
    });

    it('RUN-DEDUP-5 sends no look-up for it', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const lookUp = (idempotencyKey: string | null) =>
        whileFailing(reveille(), SHAPES.key, () => office.wake({ agentProfileId, idempotencyKey }));
      await expect(lookUp(null)).rejects.toThrow('No statement has the shape');
      await expect(lookUp('k')).rejects.toThrow('could not be read');
    });
  });

  describe('of a wake that was refused', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.6 is not used up, and admits the wake once there is room', async () => {
      const office = await open();
      const first = pick(await office.exhaust());
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'rate_limited' });
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'rate_limited' });
      await office.delete(first.id);
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'queued' });
      expect(await office.wake({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'deduped' });
    });
  });

  describe('and an insert that fails for something else', () => {
    const nothing = () => undefined;
    const duplicate = (id: string) => `INSERT INTO runs SELECT * FROM runs WHERE id = '${id}'`;

    it.each([
      ['a table that is not there', nothing],
      ['a unique index of the same table that is not the key’s', duplicate],
    ])('RUN-DEDUP-8 is the caller’s error and no dedup when it meets %s', async (_what, rejected) => {
      const office = await open();
      const agentProfileId = await office.agent();
      const other = await office.queued();
      const wake = () => office.wake({ agentProfileId, idempotencyKey: 'k' });
      const fails = () =>
        expect(whileFailing(reveille(), SHAPES.insert, wake, rejected(other.id))).rejects.toMatchObject({
          name: 'QueryFailedError',
        });
      expect(await movedBy(reveille(), DEDUPS, fails)).toEqual({});
      expect(await movedBy(reveille(), 'office_wake_decisions_total', fails)).toEqual({
        'outcome="none"': 1,
      });
      expect(await office.runs()).toEqual([other]);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
    });

    it('RUN-DEDUP-8 is no dedup for a wake without a key either', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        const wake = whileFailing(reveille(), SHAPES.insert, () => office.wake({ agentProfileId }));
        await expect(wake).rejects.toMatchObject({ name: 'QueryFailedError' });
      });
      expect(moved).toEqual({});
      expect(await office.runs()).toEqual([]);
    });

    it('RUN-DEDUP-8 leaves no run behind when only its event cannot be written', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const wake = () => office.wake({ agentProfileId, payload: agentAssignment(office.taskId) });
      await expect(whileFailing(reveille(), SHAPES.event, wake)).rejects.toMatchObject({
        name: 'QueryFailedError',
      });
      expect(await office.runs()).toEqual([]);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
    });
  });
});
