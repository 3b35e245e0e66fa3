import { randomUUID } from 'node:crypto';
import { Transactions } from '../../src/database/transactions.js';
import { RunHistory } from '../../src/runs/run-history.repository.js';
import type { Run } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import { KEPT_PER_AGENT, Retention } from '../../src/worker/retention.js';
import { SHAPES, after } from '../support/failing-statement.js';
import { Gate } from '../support/gate.js';
import { asOutsider } from '../support/outsider.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aRun, aWake } from '../support/rows.js';
import { intercepting } from '../support/statements.js';
import { until } from '../support/until.js';
import { Workplace } from '../support/wakes.js';

const DAY_MS = 24 * 60 * 60_000;

/** On SQLite there is one writer: a wake is decided before a deletion, or after it, and never while. */
describe('a key that is redelivered in the moment in which its run is forgotten, on postgres', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const transactions = () => reveille().get(Transactions);

  /** An agent, and the one run of it that is due to be forgotten. */
  async function anOldRun(given: Partial<Run>): Promise<{ place: Workplace; wake: WakeRequest; old: Run }> {
    const place = await Workplace.open(reveille());
    const agentProfileId = await place.agent();
    const now = reveille().clock.now();
    const row = (run: Partial<Run>) =>
      aRun({ id: randomUUID(), workspaceId: place.workspaceId, agentProfileId, status: 'finished', ...run });
    const old = row({ requestedAt: now - 40 * DAY_MS, finishedAt: now - 40 * DAY_MS, ...given });
    const young = Array.from({ length: KEPT_PER_AGENT }, () => row({ requestedAt: now, finishedAt: now }));
    await transactions().run(async () => {
      for (const run of [old, ...young]) await reveille().get(RunsRepository).insert(run);
    });
    return {
      place,
      old,
      wake: { agentProfileId, reason: 'hello', payload: '{}', idempotencyKey: 'the-key' },
    };
  }

  /** Forgets everything that is due when a statement is about to be sent, once. */
  async function forgettingAt<T>(shape: { test(sql: string): boolean }, work: () => Promise<T>): Promise<T> {
    let isForgotten = false;
    const forget = async (statement: { sql: string; parameters: readonly unknown[] }) => {
      if (!isForgotten && shape.test(statement.sql)) {
        isForgotten = true;
        await reveille().get(Retention).forgetRuns();
      }
      return statement;
    };
    const result = await intercepting(reveille(), forget, work);
    expect(isForgotten).toBe(true);
    return result;
  }

  it('waits for the deletion that is under way, and makes a run of its own', async () => {
    const { place, wake, old } = await anOldRun({ idempotencyKey: 'the-key' });
    const [hasDeleted, mayCommit] = [new Gate(), new Gate()];
    const { agentProfileId } = wake;
    const before = reveille().clock.now() - 30 * DAY_MS;
    const deletion = transactions().run(async () => {
      await reveille().get(RunHistory).forget({ agentProfileId, before, kept: KEPT_PER_AGENT }, 10);
      hasDeleted.open();
      await mayCommit.passed;
    });
    await hasDeleted.passed;
    const waking = place.wake(wake);
    await asOutsider(reveille(), (outsider) =>
      until('the wake waits for the deletion', async () => {
        const waiting = await outsider.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting.length > 0 ? true : undefined;
      }),
    );
    mayCommit.open();
    await deletion;
    const { outcome, runId } = await waking;
    expect(outcome).toBe('queued');
    expect(runId).not.toBe(old.id);
  });

  it('is decided anew when the run that refused it is gone before it can be named', async () => {
    const { place, wake, old } = await anOldRun({ idempotencyKey: 'the-key' });
    const { outcome, runId } = await forgettingAt(after(1, SHAPES.key), () => place.wake(wake));
    expect(outcome).toBe('queued');
    expect(runId).not.toBe(old.id);
    expect((await place.wake(wake)).runId).toBe(runId);
  });

  it('is merged when it was merged in that run before', async () => {
    const { place, wake, old } = await anOldRun({});
    const note = aWake({ runId: old.id, workspaceId: place.workspaceId, requestedAt: old.requestedAt });
    await transactions().run(() =>
      reveille()
        .get(RunsRepository)
        .insertWake({ ...note, id: randomUUID(), idempotencyKey: 'the-key' }),
    );
    const target = await place.queued({ ...wake, idempotencyKey: null });
    const decision = await forgettingAt(after(1, SHAPES.mergedKey), () => place.wake(wake));
    expect(decision).toMatchObject({ outcome: 'coalesced', runId: target.id });
    const wakes = await reveille().get(RunsRepository).wakesOf(target.id, 10);
    expect(pick(wakes, 1).idempotencyKey).toBe('the-key');
  });
});
