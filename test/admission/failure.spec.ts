import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { FactReadError } from '../../src/scheduler/wake-facts.js';
import { PauseGateUnavailableError } from '../../src/workspaces/workspace.errors.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { statementsOf } from '../support/statements.js';
import { Workplace } from '../support/wakes.js';

const ALLOWANCES = 'office_assignment_rate_limit_total';
const DECISIONS = 'office_wake_decisions_total';
const NONE = { 'outcome="none"': 1 };

onEachDatabase('a failed read', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());

  /** An office, one of its agents, and a keyed wake for that agent that every gate has to judge. */
  const scene = async () => {
    const office = await open();
    const agentProfileId = await office.agent();
    return { office, agentProfileId, wake: () => office.wake({ agentProfileId, idempotencyKey: 'k' }) };
  };

  /** Takes the table of pauses away from everybody while `work` runs. */
  const withoutPauses = async (office: Workplace, work: () => Promise<void>) => {
    await office.sql('ALTER TABLE workspace_pauses RENAME TO workspace_pauses_elsewhere');
    await work().finally(() =>
      office.sql('ALTER TABLE workspace_pauses_elsewhere RENAME TO workspace_pauses'),
    );
  };

  it('AC-OFFICE-ASSIGN-RATE-002.2 asks no later gate', async () => {
    const { key, mergedKey, mergeTarget, count, insert } = SHAPES;
    const { wake } = await scene();
    const sent = await statementsOf(reveille(), async () => {
      await expect(whileFailing(reveille(), key, wake)).rejects.toThrow(FactReadError);
    });
    for (const shape of [mergedKey, mergeTarget, count, insert])
      expect(sent.filter(({ sql }) => shape.test(sql))).toEqual([]);
  });

  it.each(['agent', 'pause', 'key', 'mergedKey', 'mergeTarget'] as const)(
    'AC-OFFICE-ASSIGN-RATE-002.2 changes nothing that is queued already, and counts as no decision: %s',
    async (fact) => {
      const { office, agentProfileId } = await scene();
      const run = await office.queued({ agentProfileId });
      const wake = () => office.wake({ agentProfileId, idempotencyKey: 'k' });
      const fails = () => expect(whileFailing(reveille(), SHAPES[fact], wake)).rejects.toThrow();
      expect(await movedBy(reveille(), DECISIONS, fails)).toEqual(NONE);
      expect(await office.runs()).toEqual([run]);
      expect(await wake()).toMatchObject({ outcome: 'coalesced' });
    },
  );

  it('AC-OFFICE-ASSIGN-RATE-002.2 is a failure of that gate only when that gate asks', async () => {
    const { office, agentProfileId, wake } = await scene();
    await wake();
    // Each is decided by an earlier gate, so the failing statement is never sent.
    await expect(whileFailing(reveille(), SHAPES.mergeTarget, wake)).rejects.toThrow(
      'No statement has the shape',
    );
    await expect(
      whileFailing(reveille(), SHAPES.count, () => office.wake({ agentProfileId })),
    ).rejects.toThrow('No statement has the shape');
    expect(await office.runs()).toHaveLength(1);
  });

  describe('closed', () => {
    it('AC-OFFICE-ASSIGN-RATE-002.2 lets nothing pass while nobody can tell whether the workspace is paused', async () => {
      const { office, wake } = await scene();
      const fails = () =>
        withoutPauses(office, async () => {
          const failing = wake();
          await expect(failing).rejects.toThrow(PauseGateUnavailableError);
          await expect(failing).rejects.toMatchObject({
            code: 'pause_gate_unavailable',
            cause: { cause: { name: 'QueryFailedError' } },
          });
        });
      expect(await movedBy(reveille(), DECISIONS, fails)).toEqual(NONE);
      expect(await movedBy(reveille(), ALLOWANCES, fails)).toEqual({});
      expect(await office.runs()).toEqual([]);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.2 lets no redelivery, no merge and no exhausted allowance answer in its place', async () => {
      const office = await open();
      const { agentProfileId } = pick(await office.exhaust());
      const fresh = await office.agent();
      await withoutPauses(office, async () => {
        await expect(office.wake({ agentProfileId })).rejects.toThrow(PauseGateUnavailableError);
        await expect(office.wake({ agentProfileId: fresh })).rejects.toThrow(PauseGateUnavailableError);
      });
      expect(await office.wake({ agentProfileId: fresh })).toMatchObject({ outcome: 'rate_limited' });
    });
  });

  describe('open', () => {
    it('AC-OFFICE-ASSIGN-RATE-002.2 still recognises a redelivery and still merges', async () => {
      const { office, agentProfileId, wake } = await scene();
      await whileFailing(reveille(), SHAPES.count, async () => {
        expect(await wake()).toMatchObject({ outcome: 'queued' });
        expect(await wake()).toMatchObject({ outcome: 'deduped' });
        expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      });
      expect(await office.runs()).toMatchObject([{ coalescedCount: 2 }]);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.2 counts and warns of nothing when the admission itself then fails', async () => {
      const { office, wake } = await scene();
      const log = RecordingLogger.of(reveille());
      const fails = () =>
        whileFailing(reveille(), SHAPES.count, () =>
          expect(whileFailing(reveille(), SHAPES.insert, wake)).rejects.toMatchObject({
            name: 'QueryFailedError',
          }),
        );
      const moved = await movedBy(reveille(), ALLOWANCES, async () => {
        expect(await log.during(fails)).toEqual([]);
      });
      expect(moved).toEqual({});
      expect(await office.runs()).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.2 counts again as soon as the count can be read', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await whileFailing(reveille(), SHAPES.count, () => office.queued({ agentProfileId }));
      expect(await movedBy(reveille(), ALLOWANCES, () => office.spend(ALLOWANCE_LIMIT - 1))).toEqual({});
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });
  });
});
