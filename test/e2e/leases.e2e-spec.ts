import { LeaseClock } from '../../src/database/lease-clock.js';
import { Transactions } from '../../src/database/transactions.js';
import { NoteSchema } from '../../src/office/reactivity/note.schema.js';
import { NotesRepository } from '../../src/office/reactivity/notes.repository.js';
import { WORKER_LOST_LIMIT } from '../../src/runs/claim.js';
import { ClaimsRepository } from '../../src/runs/claims.repository.js';
import { RunEndings } from '../../src/runs/run-endings.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { type Outsider, asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

const SECOND_MS = 1000;

interface Claim {
  readonly run: { readonly id: string; readonly attempt: number };
  readonly claimToken: string;
  readonly agentToken: string;
}

/** Leases by the test's clock, on PostgreSQL as well. */
class FakeLeaseClock extends LeaseClock {
  instant = 0;

  now(): Promise<number> {
    return Promise.resolve(this.instant);
  }
}

onEachDatabase('leases', (database) => {
  const leases = new FakeLeaseClock();
  const reveille = useReveille(() =>
    TestReveille.serve(database, {}, (builder) => builder.overrideProvider(LeaseClock).useValue(leases)),
  );

  async function assigned(): Promise<Office> {
    const office = await anOffice(reveille());
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[0] });
    return office;
  }

  async function claim(office: Office): Promise<Claim> {
    const { body } = await office.worker.post<{ claims: Claim[] }>('/v1/runs/claim', {
      workerId: 'w',
      leaseSeconds: 30,
    });
    const [first] = body.claims;
    if (first === undefined) throw new Error('Nothing was claimed.');
    return first;
  }

  const sweep = () => reveille().get(Sweeps).sweep();
  const statusOf = async ({ user }: Office, id: string) => (await user.get<object>(`/v1/runs/${id}`)).body;

  it('AC-OFFICE-WORKER-005.1 AC-OFFICE-WORKER-001.4 puts a run back whose holder was not heard of in time, and refuses the holder from then on', async () => {
    const office = await assigned();
    const { run, claimToken, agentToken } = await claim(office);
    leases.instant += 30 * SECOND_MS;
    await sweep();
    expect(await statusOf(office, run.id)).toMatchObject({ status: 'claimed' });
    leases.instant += 1;
    await sweep();
    expect(await statusOf(office, run.id)).toMatchObject({ status: 'queued', attempt: 1, sessionId: null });
    const late = await office.worker.post(`/v1/runs/${run.id}/finish`, { claimToken });
    expect(late).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
    expect((await office.admin.as(agentToken).get('/v1/me')).status).toBe(401);
    expect((await claim(office)).run).toMatchObject({ id: run.id, attempt: 2 });
  });

  it('AC-OFFICE-WORKER-005.1 leaves a run alone that was heard of between the look and the taking back', async () => {
    const office = await assigned();
    const { run, claimToken } = await claim(office);
    leases.instant += 31 * SECOND_MS;
    const seen = await reveille().get(ClaimsRepository).overdue(leases.instant, 10);
    expect(seen.map(({ id }) => id)).toContain(run.id);
    expect((await office.worker.post(`/v1/runs/${run.id}/heartbeat`, { claimToken })).status).toBe(200);
    await reveille().get(RunEndings).takeBack(run.id, leases.instant, WORKER_LOST_LIMIT);
    expect(await statusOf(office, run.id)).toMatchObject({ status: 'claimed' });
  });

  it('AC-OFFICE-WORKER-005.2 gives a run up whose worker is lost each time', async () => {
    const office = await assigned();
    for (let attempt = 1; attempt <= WORKER_LOST_LIMIT; attempt++) {
      expect((await claim(office)).run.attempt).toBe(attempt);
      leases.instant += 31 * SECOND_MS;
      await sweep();
    }
    const runs = await office.user.get<{ items: object[] }>(`/v1/runs?taskId=${office.taskId}`);
    expect(runs.body.items).toEqual([
      expect.objectContaining({ status: 'failed', errorMessage: 'worker_lost' }),
    ]);
  });

  it('AC-OFFICE-WORKER-004.1 frees the agent of a cancelled run whose worker never lets go', async () => {
    const office = await assigned();
    const { run } = await claim(office);
    await office.user.post(`/v1/runs/${run.id}/cancel`, { reason: 'no longer' });
    await office.user.post('/v1/wakes', { agentProfileId: office.agents[0], reason: 'hello', payload: {} });
    leases.instant += 31 * SECOND_MS;
    await sweep();
    expect(await statusOf(office, run.id)).toMatchObject({ status: 'cancelled', cancelReason: 'no longer' });
    expect((await claim(office)).run.id).not.toBe(run.id);
  });

  it('AC-OFFICE-WORKER-004.1 never both cancels a run and hands it out', async () => {
    const office = await assigned();
    const runs = await office.user.get<{ items: { id: string }[] }>(`/v1/runs?taskId=${office.taskId}`);
    const id = runs.body.items[0]?.id ?? '';
    const [cancelled, claimed] = await Promise.all([
      office.user.post(`/v1/runs/${id}/cancel`, { reason: 'at once' }),
      office.worker.post<{ claims: Claim[] }>('/v1/runs/claim', { workerId: 'w' }),
    ]);
    expect(cancelled.status).toBe(200);
    for (const { claimToken } of claimed.body.claims) {
      const heartbeat = await office.worker.post(`/v1/runs/${id}/heartbeat`, { claimToken });
      expect(heartbeat).toMatchObject({ status: 200, body: { stop: true, stopReason: 'cancelled' } });
    }
  });

  it('AC-OFFICE-WORKER-004.3 ends a turn before it begins when the task was given to another since the claim', async () => {
    const office = await assigned();
    const { run, claimToken } = await claim(office);
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[1] });
    const session = await office.worker.post(`/v1/runs/${run.id}/session`, {
      claimToken,
      executionProfileId: 'default',
    });
    expect(session).toMatchObject({ status: 409, body: { code: 'claim_lost' } });
    expect(await statusOf(office, run.id)).toMatchObject({ status: 'cancelled' });
    const sessions = await office.user.get<{ items: { state: string }[] }>(
      `/v1/tasks/${office.taskId}/sessions`,
    );
    expect(sessions.body.items.map(({ state }) => state)).toEqual(['COMPLETED']);
  });

  // SQLite's one writer lets nothing happen between the look and the claim, and nobody wait inside one.
  if (database === 'sqlite') return;

  const lockWaits = async (outsider: Outsider) => {
    const waiting = await outsider.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0 ? true : undefined;
  };

  it('hands out no run that was cancelled while the claim waited for it', async () => {
    const office = await assigned();
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query('BEGIN');
      await outsider.query(
        `UPDATE runs SET status = 'cancelled', cancel_reason = 'at once' WHERE workspace_id = $1`,
        [office.workspaceId],
      );
      const claiming = office.worker.post<{ claims: Claim[] }>('/v1/runs/claim', { workerId: 'w' });
      await Promise.all([
        claiming,
        asOutsider(reveille(), (observer) => until('the claim waits', () => lockWaits(observer))).then(() =>
          outsider.query('COMMIT'),
        ),
      ]);
      expect((await claiming).body.claims).toEqual([]);
    });
  });

  it('holds no run of others up while it waits for a task', async () => {
    const office = await assigned();
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query('BEGIN');
      await outsider.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [office.taskId]);
      const claiming = office.worker.post<{ claims: Claim[] }>('/v1/runs/claim', { workerId: 'w' });
      const seen = asOutsider(reveille(), async (observer) => {
        await until('the claim waits', () => lockWaits(observer));
        return observer.query('SELECT status FROM runs WHERE workspace_id = $1', [office.workspaceId]);
      });
      const [{ body }, statuses] = await Promise.all([
        claiming,
        seen.finally(() => outsider.query('COMMIT')),
      ]);
      expect(statuses).toEqual([{ status: 'claimed' }]);
      expect(body.claims).toHaveLength(1);
    });
  });
});

onEachDatabase('wakes that are owed', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** A task that was assigned while its workspace was paused, whose wake is owed since. */
  async function owed(): Promise<Office> {
    const office = await anOffice(reveille());
    await office.user.put(`/v1/workspaces/${office.workspaceId}/pause`, { reason: 'lunch' });
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[0] });
    return office;
  }

  const sweepLater = async () => {
    reveille().clock.advance(31 * SECOND_MS);
    await reveille().get(Sweeps).sweep();
  };
  const runsOf = async ({ user, taskId }: Office) =>
    (await user.get<{ items: object[] }>(`/v1/runs?taskId=${taskId}`)).body.items;
  const notesOf = ({ workspaceId }: Office) =>
    reveille().get(Transactions).reading().findBy(NoteSchema, { workspaceId });

  it('are kept through a pause and decided once after it', async () => {
    const office = await owed();
    await sweepLater();
    expect(await runsOf(office)).toEqual([]);
    await office.user.delete(`/v1/workspaces/${office.workspaceId}/pause`);
    await sweepLater();
    expect(await runsOf(office)).toEqual([
      expect.objectContaining({ status: 'queued', reason: 'task_assigned' }),
    ]);
    expect(await notesOf(office)).toEqual([]);
    await sweepLater();
    expect(await runsOf(office)).toHaveLength(1);
  });

  it('wake nobody when the task was given to another meanwhile', async () => {
    const office = await owed();
    await office.user.patch(`/v1/tasks/${office.taskId}`, { assigneeAgentProfileId: office.agents[1] });
    await office.user.delete(`/v1/workspaces/${office.workspaceId}/pause`);
    await sweepLater();
    expect(await runsOf(office)).toEqual([expect.objectContaining({ agentProfileId: office.agents[1] })]);
    expect(await notesOf(office)).toEqual([]);
  });

  it('are still owed when the transaction that decides one is rolled back', async () => {
    const office = await owed();
    const [note] = await notesOf(office);
    const undone = reveille()
      .get(Transactions)
      .run(async () => {
        expect(
          await reveille()
            .get(NotesRepository)
            .strike(note?.id ?? ''),
        ).toBe(true);
        throw new Error('it dies here');
      });
    await expect(undone).rejects.toThrow('it dies here');
    expect(await notesOf(office)).toHaveLength(1);
  });
});
