import { onEachDatabase } from '../support/databases.js';
import { Desk } from '../support/desk.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

onEachDatabase('what a claim takes', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));

  it('AC-OFFICE-WORKER-001.1 is the oldest run of the agent that is asked for, and leaves the others as they are', async () => {
    const desk = await Desk.open(reveille());
    const [asked, other] = [await desk.workplace.agent(), await desk.workplace.agent()];
    const older = await desk.queued(other);
    reveille().clock.advance(HOUR_MS);
    const [first, ...siblings] = await desk.queuedMinutely(asked, 3);
    const { run } = await desk.claimed([asked]);
    expect(run).toMatchObject({ id: first?.id, status: 'claimed', claimedAt: reveille().clock.now() });
    expect(await desk.run(run.id)).toMatchObject({ status: 'claimed', claimedAt: reveille().clock.now() });
    for (const { id } of [older, ...siblings])
      expect(await desk.run(id)).toMatchObject({ status: 'queued', claimedAt: null, attempt: 0 });
  });

  it('AC-OFFICE-WORKER-001.1 is nothing where everything is claimed or has ended, and for an agent that nobody knows', async () => {
    const desk = await Desk.open(reveille());
    const [busy, done] = [await desk.workplace.agent(), await desk.workplace.agent()];
    await desk.queued(busy);
    await desk.claimed();
    await desk.queued(done);
    await desk.finish(await desk.claimed());
    expect(await desk.claim()).toBeNull();
    expect(await desk.claim([busy])).toBeNull();
    expect(await desk.claim([done])).toBeNull();
    expect(await desk.claim(['nobody-knows-whom'])).toBeNull();
    expect(await desk.claim([])).toBeNull();
  });

  it('AC-OFFICE-WORKER-002.1 passes over an agent that holds a run, whatever waits for it', async () => {
    const desk = await Desk.open(reveille());
    const [busy, free] = [await desk.workplace.agent(), await desk.workplace.agent()];
    await desk.queuedMinutely(busy, 2);
    await desk.claimed();
    const newer = await desk.queued(free);
    expect((await desk.claimed()).run.id).toBe(newer.id);
    expect(await desk.claim()).toBeNull();
  });

  it('AC-OFFICE-WORKER-002.4 is a retry when it is due and not before, and one that waits keeps nobody else waiting', async () => {
    const desk = await Desk.open(reveille());
    const agent = await desk.workplace.agent();
    const [later, due] = await desk.queuedMinutely(agent, 2);
    const now = reveille().clock.now();
    await desk.workplace.alter(later?.id ?? '', { scheduled_retry_at: now + HOUR_MS });
    await desk.workplace.alter(due?.id ?? '', { scheduled_retry_at: now - HOUR_MS });
    const claim = await desk.claimed();
    expect(claim.run.id).toBe(due?.id);
    await desk.finish(claim);
    expect(await desk.claim()).toBeNull();
    reveille().clock.advance(HOUR_MS - 1);
    expect(await desk.claim()).toBeNull();
    reveille().clock.advance(1);
    expect((await desk.claimed()).run.id).toBe(later?.id);
  });
});
