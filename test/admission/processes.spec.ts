import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import { type TestDatabase, freshDatabase } from '../support/databases.js';
import { TestReveille } from '../support/reveille.js';
import { WakingProcess } from '../support/waking-process.js';
import { Workplace, agentAssignment, outcomes } from '../support/wakes.js';

const EACH = 16;

/** An SQLite file has one server, so several processes exist on PostgreSQL alone. */
describe('wakes from two processes at the same time on postgres', () => {
  let database: TestDatabase;
  let reveille: TestReveille;
  let processes: readonly WakingProcess[];

  beforeAll(async () => {
    database = await freshDatabase('postgres');
    reveille = await TestReveille.start('postgres', { databaseUrl: database.url });
    processes = await Promise.all([0, 1].map(() => WakingProcess.start(database.url)));
  });

  afterAll(async () => {
    await Promise.all(processes.map((process) => process.stop()));
    await reveille.stop();
    await database.drop();
  });

  const requestOf = (office: Workplace, request: Partial<WakeRequest> & { agentProfileId: string }) => ({
    reason: 'task_assigned',
    payload: agentAssignment(office.taskId),
    ...request,
  });

  /** What becomes of the wakes when each process asks for its own share of them at the same time. */
  const fromBoth = async (first: readonly WakeRequest[], second: readonly WakeRequest[]) => {
    const now = reveille.clock.now();
    const [one, other] = processes as [WakingProcess, WakingProcess];
    return (await Promise.all([one.wake(now, first), other.wake(now, second)])).flat();
  };

  it('COALESCING-10 end in one run that has counted each of them', async () => {
    const office = await Workplace.open(reveille);
    const wake = requestOf(office, { agentProfileId: await office.agent() });
    const half = Array.from({ length: EACH }, () => wake);
    const decisions = await fromBoth(half, half);
    expect(outcomes(decisions)).toEqual({ queued: 1, coalesced: 2 * EACH - 1 });
    expect(await office.runs()).toMatchObject([{ coalescedCount: 2 * EACH }]);
  });

  it('RUN-DEDUP-3 end in one run for each key, whichever process comes first, without an error', async () => {
    const office = await Workplace.open(reveille);
    const agents = await office.agents(ALLOWANCE_LIMIT);
    const wakes = agents.map((agentProfileId, index) =>
      requestOf(office, { agentProfileId, idempotencyKey: `k${index}` }),
    );
    const decisions = await fromBoth(wakes, [...wakes].reverse());
    expect(outcomes(decisions)).toEqual({ queued: ALLOWANCE_LIMIT, deduped: ALLOWANCE_LIMIT });
    const keys = (await office.runs()).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys.sort()).toEqual(wakes.map(({ idempotencyKey }) => idempotencyKey));
  });

  it('AC-OFFICE-ASSIGN-RATE-002.1 exceed N by their number at most, and are not refused early', async () => {
    const office = await Workplace.open(reveille);
    await office.spend(ALLOWANCE_LIMIT - 1);
    const agents = await office.agents(2 * EACH);
    const wakes = agents.map((agentProfileId) => requestOf(office, { agentProfileId }));
    const decisions = await fromBoth(wakes.slice(0, EACH), wakes.slice(EACH));
    const { queued = 0, rate_limited: refused = 0 } = outcomes(decisions);
    expect(queued + refused).toBe(2 * EACH);
    expect(queued).toBeGreaterThanOrEqual(1);
    for (const { outcome, allowance } of decisions)
      expect((allowance?.observed ?? -1) < ALLOWANCE_LIMIT).toBe(outcome === 'queued');
    expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT - 1 + queued);
    expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
  });
});
