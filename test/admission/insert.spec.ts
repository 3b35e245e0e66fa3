import { Transactions } from '../../src/database/transactions.js';
import { EventLog } from '../../src/events/event-log.js';
import { RunSignal } from '../../src/runs/run-signal.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, agentAssignment } from '../support/wakes.js';

onEachDatabase('the insert', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());
  const events = ({ workspaceId }: Workplace) => reveille().get(EventLog).after(workspaceId, 0, 100);
  const runEvents = async (office: Workplace) =>
    (await events(office)).filter(({ type }) => type === 'run.queued');
  const signalsDuring = async (work: () => Promise<unknown>): Promise<number> => {
    let signals = 0;
    const stop = reveille()
      .get(RunSignal)
      .listen(() => (signals += 1));
    await work();
    stop();
    return signals;
  };

  it('AC-OFFICE-ASSIGN-RATE-001.5 makes one queued run of an admitted wake', async () => {
    const office = await open();
    const agentProfileId = await office.agent();
    const payload = agentAssignment(office.taskId);
    const decision = await office.wake({ agentProfileId, payload, idempotencyKey: 'k' });
    const [run, ...others] = await office.runs();
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      workspaceId: office.workspaceId,
      agentProfileId,
      reason: 'task_assigned',
      payload,
      taskId: office.taskId,
      actorType: 'agent',
      status: 'queued',
      coalescedCount: 1,
      idempotencyKey: 'k',
      requestedAt: reveille().clock.now(),
      retryCount: 0,
      claimedAt: null,
      finishedAt: null,
      scheduledRetryAt: null,
      sessionId: null,
    });
    expect(decision).toMatchObject({
      outcome: 'queued',
      admitted: true,
      runId: run?.id,
      runStatus: 'queued',
      gate: null,
      allowance: { limit: ALLOWANCE_LIMIT, observed: 0, retryAt: null },
    });
  });

  it('AC-OFFICE-ASSIGN-RATE-001.11 stamps the run with the instant by which it was judged, whatever its payload says', async () => {
    const office = await open();
    const payload = JSON.stringify({ task_id: office.taskId, requested_at: 1, requestedAt: 1 });
    const earlier = await office.queued({ payload });
    reveille().clock.advance(1);
    const later = await office.queued({ payload });
    expect(later.requestedAt).toBe(reveille().clock.now());
    expect(later.requestedAt - earlier.requestedAt).toBe(1);
  });

  it('keeps the payload byte for byte, with a readable copy of what admission compares', async () => {
    const office = await open();
    const payload = `{ "task_id" :"${office.taskId}",  "actor_type":"agent", "n": 1.0, "é": "\\u00e9", "n": 2 }\n`;
    expect(await office.queued({ payload })).toMatchObject({ payload, taskId: office.taskId });
  });

  it('belongs to the agent that was asked for, whatever agent its payload names', async () => {
    const office = await open();
    const [agentProfileId, other] = [await office.agent(), await office.agent()];
    const payload = JSON.stringify({ task_id: office.taskId, agent_profile_id: other });
    expect(await office.queued({ agentProfileId, payload })).toMatchObject({ agentProfileId, payload });
    const nobody = { agentProfileId: '', payload };
    await expect(office.wake(nobody)).rejects.toMatchObject({ code: 'agent_not_runnable' });
    expect(await office.runs()).toHaveLength(1);
  });

  it('signals once for an admitted wake, and not at all for one that brings no new run', async () => {
    const office = await open();
    const agentProfileId = await office.agent();
    const wake = { agentProfileId, idempotencyKey: 'k' };
    expect(await signalsDuring(() => office.queued(wake))).toBe(1);
    expect(await signalsDuring(() => office.wake(wake))).toBe(0);
    expect(await signalsDuring(() => office.wake({ agentProfileId }))).toBe(0);
    await office.spend(ALLOWANCE_LIMIT - 1);
    expect(await signalsDuring(() => office.wake())).toBe(0);
    expect(await signalsDuring(() => office.wake({ payload: '{}' }))).toBe(1);
  });

  it('tells one event for each run, and none for a wake that brings no new one', async () => {
    const office = await open();
    const run = await office.queued({ idempotencyKey: 'k' });
    const { agentProfileId } = run;
    await office.wake({ agentProfileId, idempotencyKey: 'k' });
    await office.wake({ agentProfileId });
    const told = await runEvents(office);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      subject: { runId: run.id, agentProfileId, taskId: office.taskId },
      data: { reason: 'task_assigned', idempotencyKey: 'k' },
    });
    await office.spend(ALLOWANCE_LIMIT - 1);
    expect(await runEvents(office)).toHaveLength(ALLOWANCE_LIMIT);
    await office.wake();
    expect(await runEvents(office)).toHaveLength(ALLOWANCE_LIMIT);
  });

  it('names no task in the event of a wake that is about none', async () => {
    const office = await open();
    const { id, agentProfileId } = await office.queued({ reason: 'heartbeat', payload: '{}' });
    expect((await runEvents(office)).map(({ subject }) => subject)).toEqual([{ runId: id, agentProfileId }]);
  });

  describe('inside the caller’s own transaction', () => {
    const rolledBack = (work: () => Promise<unknown>) =>
      expect(
        reveille()
          .get(Transactions)
          .run(async () => {
            await work();
            throw new Error('the caller changes its mind');
          }),
      ).rejects.toThrow('changes its mind');

    it('leaves no run, event, signal, counter or warning behind when the caller rolls back', async () => {
      const office = await open();
      const log = RecordingLogger.of(reveille());
      await office.spend(ALLOWANCE_LIMIT - 1);
      const before = await events(office);
      const agents = await office.agents(2);
      const wakes = () =>
        rolledBack(async () => {
          const first = await office.wake({ agentProfileId: pick(agents, 0) });
          expect(first).toMatchObject({ outcome: 'queued' });
          const second = await office.wake({ agentProfileId: pick(agents, 1) });
          expect(second).toMatchObject({ outcome: 'rate_limited' });
        });
      const moved = await movedBy(reveille(), 'office_assignment_rate_limit_total', async () => {
        expect(await movedBy(reveille(), 'office_wake_decisions_total', wakes)).toEqual({});
      });
      expect(moved).toEqual({});
      expect(await log.during(wakes)).toEqual([]);
      expect(await signalsDuring(wakes)).toBe(0);
      expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT - 1);
      expect(await events(office)).toEqual(before);
    });

    it('is committed, signalled and counted with the caller', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const transactions = reveille().get(Transactions);
      let during = -1;
      const signals = await signalsDuring(() =>
        transactions.run(async () => {
          during = await signalsDuring(() => office.queued({ agentProfileId }));
        }),
      );
      expect({ during, signals }).toEqual({ during: 0, signals: 1 });
      expect(await office.runs()).toHaveLength(1);
      expect(await runEvents(office)).toHaveLength(1);
    });
  });
});
