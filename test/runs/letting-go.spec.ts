import { LeaseClock } from '../../src/database/lease-clock.js';
import { ClaimsRepository } from '../../src/runs/claims.repository.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { onEachDatabase } from '../support/databases.js';
import { Desk } from '../support/desk.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const UNKNOWN = { claimToken: '0'.repeat(64) };

onEachDatabase('how runs are let go', (database) => {
  const leases = { now: () => Promise.resolve(reveille().clock.now()) };
  const reveille = useReveille(() =>
    TestReveille.start(database, {}, (builder) => builder.overrideProvider(LeaseClock).useValue(leases)),
  );

  it('AC-OFFICE-WORKER-005.1 takes back what is a moment too late, nothing at the very end of its lease, and nothing that has ended', async () => {
    const desk = await Desk.open(reveille());
    const agents = await desk.workplace.agents(4);
    for (const agent of agents) await desk.queued(agent);
    const ended = await desk.claimed();
    const finished = await desk.finish(ended);
    const cutoff = reveille().clock.now() + 10 * MINUTE_MS;
    const held = [await desk.claimed(), await desk.claimed(), await desk.claimed()].map(({ run }) => run.id);
    for (const [place, id] of held.entries())
      await desk.workplace.alter(id, { lease_expires_at: cutoff + (place - 1) * MINUTE_MS });
    reveille().clock.set(cutoff);
    await reveille().get(Sweeps).sweep();
    const statuses = await Promise.all(held.map(async (id) => (await desk.run(id)).status));
    expect(statuses).toEqual(['queued', 'claimed', 'claimed']);
    expect(await desk.run(finished.id)).toEqual(finished);
  });

  it('AC-OFFICE-WORKER-005.1 takes back nothing where nobody holds anything', async () => {
    const desk = await Desk.open(reveille());
    const runs = await desk.queuedMinutely(await desk.workplace.agent(), 3);
    expect(await reveille().get(ClaimsRepository).overdue(reveille().clock.now(), 10)).not.toContainEqual(
      expect.objectContaining({ workspaceId: desk.workplace.workspaceId }),
    );
    await reveille().get(Sweeps).sweep();
    expect(await Promise.all(runs.map(({ id }) => desk.run(id)))).toEqual(runs);
  });

  it('AC-OFFICE-WORKER-005.5 puts a released run back as it was, however often it was tried', async () => {
    const desk = await Desk.open(reveille());
    const { id } = await desk.queued(await desk.workplace.agent());
    await desk.workplace.alter(id, { retry_count: 3, attempt: 4, scheduled_retry_at: 0 });
    const before = await desk.run(id);
    const claim = await desk.claimed();
    const released = await desk.runs.release(id, desk.reportOf(claim));
    expect(await desk.run(id)).toEqual(released);
    // Its worker's name stays, for whoever asks who had it last.
    expect(released).toEqual({ ...before, workerId: 'w' });
  });

  it('AC-OFFICE-WORKER-001.4 releases nothing that is not held: not a run that waits, nor one that was cancelled, nor one that is not', async () => {
    const desk = await Desk.open(reveille());
    const [first, second] = await desk.workplace.agents(2);
    const waiting = await desk.queued(first ?? '');
    await expect(desk.runs.release(waiting.id, desk.reportOf(UNKNOWN))).rejects.toMatchObject({
      code: 'claim_lost',
    });
    expect(await desk.run(waiting.id)).toEqual(waiting);
    const { id } = await desk.queued(second ?? '');
    const claim = await desk.claimed([second ?? '']);
    await desk.runs.cancel(id, 'a reason');
    await expect(desk.runs.release(id, desk.reportOf(claim))).rejects.toMatchObject({ code: 'claim_lost' });
    await expect(desk.runs.release(id, desk.reportOf(claim))).rejects.toMatchObject({ code: 'claim_lost' });
    expect(await desk.run(id)).toMatchObject({ status: 'cancelled', cancelReason: 'a reason' });
    await expect(desk.runs.release('no-such-run', desk.reportOf(claim))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('AC-OFFICE-WORKER-004.1 cancels what waits and what is held, with its reason and the instant', async () => {
    const desk = await Desk.open(reveille());
    const [first, second] = await desk.workplace.agents(2);
    await desk.queued(first ?? '');
    const { run: held } = await desk.claimed();
    const waiting = await desk.queued(second ?? '');
    reveille().clock.advance(MINUTE_MS);
    for (const { id } of [held, waiting]) {
      await desk.runs.cancel(id, 'a reason');
      expect(await desk.run(id)).toMatchObject({
        status: 'cancelled',
        cancelReason: 'a reason',
        finishedAt: reveille().clock.now(),
      });
    }
  });

  it('AC-OFFICE-WORKER-004.1 cancels nothing that has ended', async () => {
    const desk = await Desk.open(reveille());
    const agent = await desk.workplace.agent();
    await desk.queued(agent);
    const finished = await desk.finish(await desk.claimed());
    await desk.queued(agent);
    const failed = await desk.fail(await desk.claimed());
    const cancelled = await desk.runs.cancel((await desk.queued(agent)).id, 'the first reason');
    reveille().clock.advance(MINUTE_MS);
    for (const ended of [finished, failed, cancelled]) {
      const again = desk.runs.cancel(ended.id, 'another reason');
      await expect(again).rejects.toMatchObject({ code: 'illegal_transition' });
      expect(await desk.run(ended.id)).toEqual(ended);
    }
  });
});
