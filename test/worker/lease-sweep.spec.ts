import { LeaseClock } from '../../src/database/lease-clock.js';
import { Transactions } from '../../src/database/transactions.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { aWorkspace, anAgent } from '../../src/testing.js';
import { LeaseSweep } from '../../src/worker/lease-sweep.js';
import { IN_PROCESS } from '../../src/worker/turn-runner.js';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const TICK_MS = 5_000;
const LEASE_MS = 30_000;

/** Leases by the test's clock, on PostgreSQL as well. */
class FakeLeaseClock extends LeaseClock {
  now(): Promise<number> {
    return Promise.resolve(this.clock.now());
  }

  constructor(private readonly clock: { now(): number }) {
    super();
  }
}

onEachDatabase('taking back what nobody holds any more', (database) => {
  const leases = new FakeLeaseClock({ now: () => reveille().clock.now() });
  const reveille = useReveille(() =>
    TestReveille.start(database, {}, (builder) => builder.overrideProvider(LeaseClock).useValue(leases)),
  );
  const sweep = () => reveille().get(LeaseSweep);
  const statusOf = async (id: string) => (await reveille().get(RunsService).get(id)).status;

  /** A run that somebody has just claimed. */
  async function held(bearerTokenId: string) {
    const { id: workspaceId } = await aWorkspace(reveille().app);
    const { id: agentProfileId } = await anAgent(reveille().app, workspaceId);
    await reveille().get(SchedulerService).queueRun({ agentProfileId, reason: 'ping', payload: '{}' });
    const request = { workerId: 'w', bearerTokenId, workspaceId, agentProfileIds: null };
    const [claim] = await reveille().get(RunsService).claim(request);
    if (claim === undefined) throw new Error('Nothing was claimed.');
    return { id: claim.run.id, report: { claimToken: claim.claimToken, bearerTokenId } };
  }

  const tick = async (afterMs: number) => {
    reveille().clock.advance(afterMs);
    sweep().tick(TICK_MS);
    await sweep().sweep();
  };

  it('AC-OFFICE-WORKER-005.4 judges nobody for one lease after time has stood still', async () => {
    const { id, report } = await held('b');
    const silent = await held('b');
    await tick(TICK_MS);
    await tick(8 * 60 * 60_000);
    expect(await statusOf(id)).toBe('claimed');
    await reveille().get(RunsService).heartbeat(id, report);
    for (let passed = TICK_MS; passed < LEASE_MS; passed += TICK_MS) await tick(TICK_MS);
    expect(await statusOf(silent.id)).toBe('claimed');
    await tick(TICK_MS);
    expect(await statusOf(silent.id)).toBe('queued');
    expect(await statusOf(id)).toBe('claimed');
    await tick(TICK_MS);
    expect(await statusOf(id)).toBe('queued');
  });

  it('AC-OFFICE-WORKER-005.4 takes two late ticks for slow, not for asleep', async () => {
    const { id } = await held('b');
    await tick(TICK_MS);
    for (let passed = TICK_MS; passed <= LEASE_MS; passed += 2 * TICK_MS) await tick(2 * TICK_MS);
    expect(await statusOf(id)).toBe('queued');
  });

  it('AC-OFFICE-WORKER-005.3 takes back at once what agents of an earlier process were at, and nothing that is held elsewhere', async () => {
    const dead = await held(IN_PROCESS);
    const alive = await held('b');
    await sweep().takeBackOwn();
    expect(await reveille().get(RunsService).get(dead.id)).toMatchObject({ status: 'queued', attempt: 1 });
    expect(await statusOf(alive.id)).toBe('claimed');
    await expect(reveille().get(RunsService).finish(dead.id, dead.report, {})).rejects.toMatchObject({
      code: 'claim_lost',
    });
  });

  it('AC-OFFICE-WORKER-005.2 gives a run up that was taken back five times', async () => {
    const { id } = await held(IN_PROCESS);
    const transactions = reveille().get(Transactions);
    await transactions.run(() =>
      transactions.writing().query(`UPDATE runs SET attempt = 5 WHERE id = '${id}'`),
    );
    await sweep().takeBackOwn();
    expect(await reveille().get(RunsService).get(id)).toMatchObject({
      status: 'failed',
      errorMessage: 'worker_lost',
    });
  });
});
