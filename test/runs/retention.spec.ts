import { randomUUID } from 'node:crypto';
import { Transactions } from '../../src/database/transactions.js';
import { type Run, RunSchema, type RunWake, RunWakeSchema } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { aTask, aWorkspace, anAgent } from '../../src/testing.js';
import { KEPT_PER_AGENT, RUNS_BATCH, Retention } from '../../src/worker/retention.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { meetingAt } from '../support/contention.js';
import { onEachDatabase } from '../support/databases.js';
import { asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aRun, aWake } from '../support/rows.js';
import { type Statement, intercepting, statementsOf } from '../support/statements.js';

const DAY_MS = 24 * 60 * 60_000;
const DELETION = 'DELETE FROM "runs"';

onEachDatabase('ended runs', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const daily = useReveille(() => TestReveille.start(database, { retentionDays: 1 }));
  const hasty = useReveille(() => TestReveille.start(database, { retentionDays: 0.001 }));
  const off = useReveille(() => TestReveille.start(database, { retentionDays: null }));

  const now = (at = reveille()) => at.clock.now();
  const forget = (at = reveille()) => at.get(Retention).forgetRuns();
  const ago = (days: number, at = reveille()) => now(at) - days * DAY_MS;

  /** Stores runs, finished when they were requested unless the test says otherwise, and answers their ids. */
  function store(runs: readonly Partial<Run>[], at = reveille()): Promise<readonly string[]> {
    const rows = runs.map((run) => {
      const requestedAt = run.requestedAt ?? now(at);
      const id = randomUUID();
      return aRun({
        id,
        workspaceId: 'history',
        status: 'finished',
        requestedAt,
        finishedAt: requestedAt,
        ...run,
      });
    });
    return at.get(Transactions).run(async () => {
      for (const row of rows) await at.get(RunsRepository).insert(row);
      return rows.map(({ id }) => id);
    });
  }

  /** An agent whose newest runs, as many as are kept of each, ended just now. */
  async function aBusyAgent(at = reveille()): Promise<string> {
    const agentProfileId = `a-${randomUUID()}`;
    await store(
      Array.from({ length: KEPT_PER_AGENT }, () => ({ agentProfileId })),
      at,
    );
    return agentProfileId;
  }

  /** Which of the runs are still there. */
  async function left(ids: readonly string[], at = reveille()): Promise<readonly string[]> {
    const found = await Promise.all(ids.map((id) => at.get(RunsRepository).find(id)));
    return ids.filter((_id, index) => found[index] !== null);
  }

  const wakesOf = (runId: string, at = reveille()): Promise<RunWake[]> =>
    at.get(Transactions).reading().findBy(RunWakeSchema, { runId });
  const note = (wake: Partial<RunWake>, at = reveille()) =>
    at.get(Transactions).run(() => at.get(RunsRepository).insertWake(aWake({ id: randomUUID(), ...wake })));

  it('AC-OFFICE-WORKER-007.1 U-219 are forgotten by their end, or by their request where that is missing, and not at the cutoff itself', async () => {
    const agentProfileId = await aBusyAgent();
    const cutoff = ago(30);
    const requested = { agentProfileId, requestedAt: cutoff - DAY_MS };
    const old = await store([
      { ...requested, finishedAt: cutoff - 1 },
      { ...requested, finishedAt: cutoff - 1, status: 'failed' },
      { ...requested, finishedAt: cutoff - 1, status: 'cancelled' },
      { ...requested, finishedAt: null },
      { ...requested, finishedAt: null, requestedAt: cutoff - 1 },
    ]);
    const young = await store([
      { ...requested, finishedAt: cutoff },
      { ...requested, finishedAt: cutoff + 1, status: 'failed' },
      { ...requested, finishedAt: cutoff, status: 'cancelled' },
      { ...requested, finishedAt: null, requestedAt: cutoff },
    ]);
    const unended = await store([
      { ...requested, finishedAt: null, status: 'queued' },
      { ...requested, finishedAt: null, status: 'claimed' },
    ]);
    await forget();
    expect(await left([...old, ...young, ...unended])).toEqual([...young, ...unended]);
  });

  it('AC-OFFICE-WORKER-007.1 stay whatever their age while they are among the newest 50 of their agent', async () => {
    const runsOf = (agentProfileId: string, count: number) =>
      store(
        Array.from({ length: count }, (_run, index) => ({ agentProfileId, requestedAt: ago(400 - index) })),
      );
    const [one, other] = [
      await runsOf(randomUUID(), KEPT_PER_AGENT + 3),
      await runsOf(randomUUID(), KEPT_PER_AGENT),
    ];
    await forget();
    expect(await left(one)).toEqual(one.slice(3));
    expect(await left(other)).toEqual(other);
  });

  it('AC-OFFICE-WORKER-007.1 do not stay for want of others because some wait in the queue', async () => {
    const agentProfileId = randomUUID();
    const old = await store([{ agentProfileId, requestedAt: ago(40) }]);
    await store(Array.from({ length: KEPT_PER_AGENT - 1 }, () => ({ agentProfileId })));
    await store([{ agentProfileId, status: 'queued', finishedAt: null }]);
    await forget();
    expect(await left(old)).toEqual(old);
    await store([{ agentProfileId }]);
    await forget();
    expect(await left(old)).toEqual([]);
  });

  it.each([
    ['a day', daily],
    ['less', hasty],
  ])('stay for the longest window of admission where the setting says %s', async (_setting, at) => {
    const agentProfileId = await aBusyAgent(at());
    const [before = '', edge = ''] = await store(
      [{ requestedAt: ago(1, at()) - 1 }, { requestedAt: ago(1, at()) }].map((run) => ({
        ...run,
        agentProfileId,
      })),
      at(),
    );
    await forget(at());
    expect(await left([before, edge], at())).toEqual([edge]);
  });

  it('AC-OFFICE-WORKER-007.2 stay while a key that was merged in them is inside that window', async () => {
    const agentProfileId = await aBusyAgent(daily());
    const requestedAt = ago(1, daily()) - 1;
    const [merged = '', alone = ''] = await store(
      [
        { agentProfileId, requestedAt },
        { agentProfileId, requestedAt },
      ],
      daily(),
    );
    await note({ runId: merged, idempotencyKey: 'a young key', requestedAt: ago(1, daily()) }, daily());
    await forget(daily());
    expect(await left([merged, alone], daily())).toEqual([merged]);
    daily().clock.advance(1);
    await forget(daily());
    expect(await left([merged], daily())).toEqual([]);
  });

  it('AC-OFFICE-WORKER-007.1 stay while a worker has not let go of them', async () => {
    const agentProfileId = await aBusyAgent();
    const held = { claimTokenHash: 'hash', status: 'cancelled' } as const;
    const [run = ''] = await store([{ agentProfileId, requestedAt: ago(40), ...held }]);
    await forget();
    expect(await left([run])).toEqual([run]);
    await asOutsider(reveille(), (outsider) =>
      outsider.query('UPDATE runs SET claim_token_hash = NULL WHERE id = $1', [run]),
    );
    await forget();
    expect(await left([run])).toEqual([]);
  });

  it('AC-OFFICE-WORKER-007.1 go with the ledger of their wakes, and others keep theirs', async () => {
    const agentProfileId = await aBusyAgent();
    const [old = '', young = ''] = await store([
      { agentProfileId, requestedAt: ago(40) },
      { agentProfileId, requestedAt: ago(20) },
    ]);
    for (const runId of [old, young]) await note({ runId, requestedAt: ago(40) });
    await forget();
    expect(await wakesOf(old)).toEqual([]);
    expect(await wakesOf(young)).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-007.1 give their keys free: the same key makes a new run', async () => {
    const { id: workspaceId } = await aWorkspace(reveille().app);
    const { id: agentProfileId } = await anAgent(reveille().app, workspaceId);
    await aTask(reveille().app, workspaceId);
    await store(Array.from({ length: KEPT_PER_AGENT }, () => ({ agentProfileId })));
    const idempotencyKey = 'an old key';
    await store([{ agentProfileId, workspaceId, idempotencyKey, requestedAt: ago(40) }]);
    const wake = { agentProfileId, reason: 'hello', payload: '{}', idempotencyKey };
    expect((await reveille().get(SchedulerService).queueRun(wake)).outcome).toBe('deduped');
    await forget();
    expect((await reveille().get(SchedulerService).queueRun(wake)).outcome).toBe('queued');
  });

  it('AC-OFFICE-WORKER-007.3 are all kept when the setting is off, and events are not', async () => {
    const agentProfileId = await aBusyAgent(off());
    const old = await store([{ agentProfileId, requestedAt: ago(4000, off()) }], off());
    await asOutsider(off(), (outsider) =>
      outsider.query(`
        INSERT INTO events (id, number, workspace_id, type, at, subject, data)
        VALUES ('old', 1, 'w', 'task.created', 0, '{}', '{}')`),
    );
    await off().get(Sweeps).sweep();
    expect(await left(old, off())).toEqual(old);
    expect(await asOutsider(off(), (outsider) => outsider.query('SELECT id FROM events'))).toEqual([]);
  });

  describe('more than one batch of them', () => {
    const COUNT = 2 * RUNS_BATCH + 1;
    const many = async () => {
      const agentProfileId = await aBusyAgent();
      return store(Array.from({ length: COUNT }, () => ({ agentProfileId, requestedAt: ago(40) })));
    };

    it('AC-OFFICE-WORKER-007.1 go in as many transactions', async () => {
      const old = await many();
      const statements = await statementsOf(reveille(), () => forget());
      const sizes = statements
        .filter(({ sql }) => sql.startsWith(DELETION))
        .map(({ parameters }) => parameters.length);
      expect(sizes).toEqual([RUNS_BATCH, RUNS_BATCH, 1]);
      expect(await left(old)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-007.1 go no further once the server stops', async () => {
      const old = await many();
      let deletions = 0;
      const count = (statement: Statement) => {
        if (statement.sql.startsWith(DELETION)) deletions += 1;
        return statement;
      };
      await intercepting(reveille(), count, () =>
        reveille()
          .get(Retention)
          .forgetRuns(() => deletions > 0),
      );
      expect(await left(old)).toHaveLength(COUNT - RUNS_BATCH);
      await forget();
      expect(await left(old)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-007.1 go once and without an error when two servers look at once', async () => {
      const old = await many();
      const both = () => Promise.all([forget(), forget()]);
      // On SQLite the one writer lets the second look when the first has ended.
      if (database === 'sqlite') await both();
      else await meetingAt([reveille()], [/FROM "runs" .*FOR NO KEY UPDATE OF .* SKIP LOCKED/s, 2], both);
      await forget();
      expect(await left(old)).toEqual([]);
    });
  });

  it('are looked through by the sweeps, once in an hour', async () => {
    const agentProfileId = await aBusyAgent();
    const sweep = async () => {
      const old = await store([{ agentProfileId, requestedAt: ago(400) }]);
      await reveille().get(Sweeps).sweep();
      return (await left(old)).length;
    };
    reveille().clock.advance(60 * 60_000);
    expect(await sweep()).toBe(0);
    expect(await sweep()).toBe(1);
    reveille().clock.advance(60 * 60_000 - 1);
    expect(await sweep()).toBe(1);
    reveille().clock.advance(1);
    expect(await sweep()).toBe(0);
    const reading = reveille().get(Transactions).reading();
    expect(await reading.countBy(RunSchema, { agentProfileId })).toBe(KEPT_PER_AGENT);
  });
});
