import { Transactions } from '../../src/database/transactions.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { meetingAt } from '../support/contention.js';
import { Gate } from '../support/gate.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';
import { Workplace, agentAssignment, outcomes } from '../support/wakes.js';

/** What PostgreSQL answers when a lock is not to be had in time. */
const LOCK_NOT_AVAILABLE = 'DO $$ BEGIN RAISE lock_not_available; END $$';

/** Fewer than the pool has connections: all of them can wait for each other. */
const SOME = 12;

/** On SQLite there is one writer, so what is decided out of turn exists on PostgreSQL alone. */
describe('wakes that are decided without their turn on postgres', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const open = () => Workplace.open(reveille());

  /** Runs `work` while no turn can be had. */
  const withoutTurns = <T>(work: () => Promise<T>): Promise<T> =>
    whileFailing(reveille(), SHAPES.turn, work, LOCK_NOT_AVAILABLE);

  /** The same, while statements of the shape wait for each other until so many are there. */
  const meetingWithoutTurns = <T>(shape: RegExp, count: number, work: () => Promise<T>): Promise<T> =>
    withoutTurns(() => meetingAt([reveille()], [shape, count], work));

  it('AC-OFFICE-ASSIGN-RATE-002.1 are decided all the same, and exceed N by their number when all of them count before any is inserted', async () => {
    const office = await open();
    await office.spend(ALLOWANCE_LIMIT - 1);
    const agents = await office.agents(SOME);
    const decisions = await meetingWithoutTurns(SHAPES.insert, SOME, () =>
      Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId }))),
    );
    expect(outcomes(decisions)).toEqual({ queued: SOME });
    expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT - 1 + SOME);
    expect(await office.wake()).toMatchObject({
      outcome: 'rate_limited',
      allowance: { observed: ALLOWANCE_LIMIT - 1 + SOME },
    });
  });

  it('AC-OFFICE-ASSIGN-RATE-002.1 see no refusal before N are admitted', async () => {
    const office = await open();
    const agents = await office.agents(64);
    const decisions = await withoutTurns(() =>
      Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId }))),
    );
    const { queued = 0, rate_limited: refused = 0 } = outcomes(decisions);
    expect(queued + refused).toBe(agents.length);
    expect(queued).toBeGreaterThanOrEqual(ALLOWANCE_LIMIT);
    for (const { outcome, allowance } of decisions)
      expect((allowance?.observed ?? -1) < ALLOWANCE_LIMIT).toBe(outcome === 'queued');
  });

  it('RUN-DEDUP-7 leave a race for one key to the unique index: one run, no error', async () => {
    const office = await open();
    const agents = await office.agents(2);
    const race = async () => {
      const decisions = await meetingWithoutTurns(SHAPES.insert, 2, () =>
        Promise.all(agents.map((agentProfileId) => office.wake({ agentProfileId, idempotencyKey: 'k' }))),
      );
      expect(outcomes(decisions)).toEqual({ queued: 1, deduped: 1 });
      expect(decisions[0]?.runId).toBe(decisions[1]?.runId);
      expect(decisions.map(({ gate }) => gate).sort()).toEqual(['insert', null]);
    };
    expect(await movedBy(reveille(), 'office_run_dedup_total', race)).toEqual({
      'reason="task_assigned",kind="durable",queue="runs"': 1,
    });
    expect(await office.runs()).toHaveLength(1);
  });

  it('COALESCING-12 leave a race of one key into one run to the unique index', async () => {
    const office = await open();
    const run = await office.queued();
    const { agentProfileId } = run;
    await office.wake({ agentProfileId });
    const wake = () => office.wake({ agentProfileId, idempotencyKey: 'k' });
    const decisions = await meetingWithoutTurns(SHAPES.merge, 2, () => Promise.all([wake(), wake()]));
    expect(outcomes(decisions)).toEqual({ coalesced: 1, deduped: 1 });
    expect(await office.run(run.id)).toMatchObject({ coalescedCount: 3 });
  });

  it.each([null, 'k1'])(
    'COALESCING-11 keep each wake once when two are the first to be merged (key: %s)',
    async (key) => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: key });
      const { agentProfileId } = run;
      const decisions = await meetingWithoutTurns(SHAPES.merge, 2, () =>
        Promise.all([office.wake({ agentProfileId }), office.wake({ agentProfileId })]),
      );
      expect(outcomes(decisions)).toEqual({ coalesced: 2 });
      expect(await office.run(run.id)).toMatchObject({ coalescedCount: 3 });
      const kept = await office.sql<unknown[]>('SELECT id FROM run_wakes WHERE run_id = $1', [run.id]);
      expect(kept).toHaveLength(3);
    },
  );

  it('COALESCING-1 make a run of their own when the one they were to be merged in is claimed meanwhile', async () => {
    const office = await open();
    const run = await office.queued();
    const { agentProfileId } = run;
    const aboutToMerge = new Gate();
    const claimed = new Gate();
    const decision = intercepting(
      reveille(),
      async (statement) => {
        if (SHAPES.merge.test(statement.sql)) {
          aboutToMerge.open();
          await claimed.passed;
        }
        return statement;
      },
      () => office.wake({ agentProfileId }),
    );
    await aboutToMerge.passed;
    await office.alter(run.id, { status: 'claimed' });
    claimed.open();
    expect(await decision).toMatchObject({ outcome: 'queued', gate: null });
    expect(await office.run(run.id)).toEqual({ ...run, status: 'claimed' });
    expect(await office.runs()).toHaveLength(2);
  });

  it('are an error to the caller when the turn fails for anything but time', async () => {
    const office = await open();
    const agentProfileId = await office.agent();
    const wake = () => office.wake({ agentProfileId });
    await expect(whileFailing(reveille(), SHAPES.turn, wake)).rejects.toMatchObject({
      name: 'QueryFailedError',
    });
    expect(await office.runs()).toEqual([]);
    expect(await wake()).toMatchObject({ outcome: 'queued' });
  });

  it('AC-OFFICE-ASSIGN-RATE-002.1 are decided when two callers’ transactions ask for their turns in opposite order', async () => {
    const office = await open();
    const [agentProfileId, other] = [await office.agent(), await office.agent()];
    const bothHaveOne = [new Gate(), new Gate()];
    const caller = (index: number, agent: string, tasks: readonly [string, string]) =>
      reveille()
        .get(Transactions)
        .run(async () => {
          const first = await office.wake({ agentProfileId: agent, payload: agentAssignment(tasks[0]) });
          pick(bothHaveOne, index).open();
          await pick(bothHaveOne, 1 - index).passed;
          return [first, await office.wake({ agentProfileId: agent, payload: agentAssignment(tasks[1]) })];
        });
    const callers = [caller(0, agentProfileId, ['a', 'b']), caller(1, other, ['b', 'a'])];
    expect(outcomes((await Promise.all(callers)).flat())).toEqual({ queued: 4 });
  });
});
