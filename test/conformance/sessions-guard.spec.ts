import type { Session } from '../../src/sessions/session.schema.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import type { EnsuredSession } from '../../src/sessions/office-sessions.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import { TasksRepository } from '../../src/tasks/tasks.repository.js';
import { Transactions } from '../../src/database/transactions.js';
import { aTask, aWorkspace } from '../../src/testing.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { type Outsider, asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aSession } from '../support/rows.js';
import { until } from '../support/until.js';

const CALLERS = 64;

onEachDatabase('office sessions', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const transactions = () => reveille().get(Transactions);
  const sessions = () => reveille().get(SessionsService);

  const newTask = async () => {
    const { id } = await aWorkspace(reveille().app);
    return (await aTask(reveille().app, id)).id;
  };

  const ensure = (taskId: string, agentProfileId: string, from = reveille()) =>
    from.get(SessionsService).ensure({ taskId, agentProfileId, executionProfileId: 'profile' });

  /** Keeps every other session of the task from being created until it is told to let go, after something of its own. */
  const holdTask = async (taskId: string) => {
    const isHeld = new Gate();
    const mayLetGo = new Gate();
    let last = (): Promise<unknown> => Promise.resolve();
    const done = transactions().run(async () => {
      await reveille().get(TasksRepository).lock(taskId);
      isHeld.open();
      await mayLetGo.passed;
      await last();
    });
    await Promise.race([isHeld.passed, done]);
    const letGo = (after = last) => {
      last = after;
      mayLetGo.open();
      return done;
    };
    return { letGo };
  };

  /** Counts the attempts to create and how they ended; every one of them is made. */
  const countCreates = (of = reveille()) => {
    const spy = jest.spyOn(of.get(OfficeSessionCreator), 'create');
    const refused = async () => {
      const settled = await Promise.allSettled(
        spy.mock.results.map(({ value }) => value as Promise<Session>),
      );
      return settled.filter(
        (result) => result.status === 'rejected' && result.reason instanceof OfficeSessionRaceConflict,
      ).length;
    };
    return { begun: () => spy.mock.calls.length, refused };
  };
  afterEach(() => jest.restoreAllMocks());

  it('AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-003.2 are one for 64 callers at once, of whom one has made it and 63 were refused first', async () => {
    const taskId = await newTask();
    const creates = countCreates();
    const held = await holdTask(taskId);
    const callers = Array.from({ length: CALLERS }, () => ensure(taskId, 'agent'));
    await asOutsider(reveille(), async (outsider) => {
      // All have looked and found nothing; with the task held, none has got any further.
      await until('all are about to create', () => seenBy(outsider, () => creates.begun() === CALLERS));
      if (database === 'postgres') await until('some stand at the task', () => areWaiting(outsider));
      expect(await outsider.query('SELECT id FROM task_sessions')).toEqual([]);
    });
    await held.letGo();
    const ensured = await Promise.all(callers);
    expect(idsOf(ensured)).toHaveLength(1);
    expect(ensured.filter(({ created }) => created)).toHaveLength(1);
    expect((await sessions().listOfTask(taskId)).map(({ id }) => id)).toEqual(idsOf(ensured));
    expect(await creates.refused()).toBe(CALLERS - 1);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.1 are one for each of 8 pairs with 16 callers at once', async () => {
    const taskIds = await Promise.all(Array.from({ length: 4 }, newTask));
    // Two agents share each task: their callers wait for one another and are still not taken for each other.
    const pairs = taskIds.flatMap((taskId) => ['one', 'other'].map((agent) => ({ taskId, agent })));
    const creates = countCreates();
    const held = await holdTask(taskIds[0] ?? '');
    const calls = Array.from({ length: 16 }, () => pairs.map(({ taskId, agent }) => ensure(taskId, agent)));
    await asOutsider(reveille(), (outsider) =>
      until('all are about to create', () => seenBy(outsider, () => creates.begun() === 128)),
    );
    await held.letGo();
    const rounds = await Promise.all(calls.map((round) => Promise.all(round)));
    for (const [place, { taskId, agent }] of pairs.entries()) {
      const ensured = rounds.flatMap((round) => round[place] ?? []);
      expect(ensured).toHaveLength(16);
      expect(idsOf(ensured)).toHaveLength(1);
      expect(ensured.filter(({ created }) => created)).toHaveLength(1);
      expect(
        ensured.every(({ session }) => session.taskId === taskId && session.agentProfileId === agent),
      ).toBe(true);
    }
    const stored = await Promise.all(taskIds.map((taskId) => sessions().listOfTask(taskId)));
    expect(stored.map((found) => found.length)).toEqual([2, 2, 2, 2]);
    expect(await creates.refused()).toBe(120);
  });

  // SQLite's file has room for one server.
  if (database === 'postgres') {
    describe('of two servers', () => {
      const neighbour = useReveille(() =>
        TestReveille.start(database, { databaseUrl: postgresUrl(reveille()) }),
      );

      it('AC-OFFICE-SESSION-IDENTITY-003.1 are one for 32 callers of each, refused on both', async () => {
        const taskId = await newTask();
        const servers = [reveille(), neighbour()];
        const creates = servers.map((server) => countCreates(server));
        const held = await holdTask(taskId);
        const callers = servers.flatMap((server) =>
          Array.from({ length: 32 }, () => ensure(taskId, 'agent', server)),
        );
        await asOutsider(reveille(), (outsider) =>
          until('all are about to create', () =>
            seenBy(outsider, () => creates.every(({ begun }) => begun() === 32)),
          ),
        );
        await held.letGo();
        const ensured = await Promise.all(callers);
        expect(idsOf(ensured)).toHaveLength(1);
        expect(ensured.filter(({ created }) => created)).toHaveLength(1);
        const refused = await Promise.all(creates.map((of) => of.refused()));
        expect([...refused].sort()).toEqual([31, 32]);
      });
    });
  }

  it('AC-OFFICE-SESSION-IDENTITY-003.3 are made by the second attempt when what blocked the first has ended meanwhile', async () => {
    const taskId = await newTask();
    const wanted = { taskId, agentProfileId: 'agent', executionProfileId: 'profile' };
    const creator = reveille().get(OfficeSessionCreator);
    const create = creator.create.bind(creator);
    let attempts = 0;
    jest.spyOn(creator, 'create').mockImplementation(async (session) => {
      attempts++;
      // Between the refusal and the reading after it.
      return create(session).finally(() => sessions().retire(wanted));
    });
    const held = await holdTask(taskId);
    const caller = ensure(taskId, 'agent');
    await asOutsider(reveille(), (outsider) =>
      until('it is about to create', () => seenBy(outsider, () => attempts === 1)),
    );
    await held.letGo(() => sessions().launch(wanted));
    const { session, created } = await caller;
    expect({ attempts, created }).toEqual({ attempts: 2, created: true });
    const others = (await sessions().listOfTask(taskId)).filter(({ id }) => id !== session.id);
    expect(others).toMatchObject([{ state: 'COMPLETED' }]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.1 AC-OFFICE-SESSION-IDENTITY-002.2 AC-OFFICE-SESSION-IDENTITY-002.3 AC-OFFICE-SESSION-IDENTITY-002.5 AC-OFFICE-SESSION-IDENTITY-003.6 are, of several from older data, the live one that began last and has the greatest id, and no row is changed', async () => {
    const taskId = await newTask();
    const rows = [
      { id: 'over-newest', state: 'COMPLETED', startedAt: 400 },
      { id: 'live-Z', state: 'RUNNING', startedAt: 200 },
      { id: 'live-a', state: 'A_STATE_OF_TOMORROW', startedAt: 200 },
      { id: 'live-_', state: 'IDLE', startedAt: 200 },
      { id: 'zz-live-oldest', state: 'CREATED', startedAt: 100 },
      { id: 'over-oldest', state: 'FAILED', startedAt: 50 },
    ];
    await writeBySql(rows.map((row) => aSession({ ...row, taskId })));
    const before = await sessions().listOfTask(taskId);
    expect((await sessions().find({ taskId, agentProfileId: 'agent' }))?.id).toBe('live-a');
    expect(await ensure(taskId, 'agent')).toMatchObject({ session: { id: 'live-a' }, created: false });
    expect(await sessions().listOfTask(taskId)).toEqual(before);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.3 AC-OFFICE-SESSION-IDENTITY-002.2 are made anew when all that there were are over, of which the last one is found until then', async () => {
    const taskId = await newTask();
    const rows = ['COMPLETED', 'CANCELLED', 'FAILED'].map((state, place) =>
      aSession({ id: `over-${state}`, taskId, state, startedAt: place }),
    );
    await writeBySql(rows);
    expect((await sessions().find({ taskId, agentProfileId: 'agent' }))?.id).toBe('over-FAILED');
    const { session, created } = await ensure(taskId, 'agent');
    expect(created).toBe(true);
    expect((await sessions().listOfTask(taskId)).map(({ id }) => id).sort()).toEqual(
      [session.id, ...rows.map(({ id }) => id)].sort(),
    );
  });

  /** As data gets there that nothing of ours has guarded. */
  const writeBySql = (rows: readonly Session[]) =>
    asOutsider(reveille(), async (outsider) => {
      for (const { id, taskId, agentProfileId, state, startedAt } of rows) {
        await outsider.query(
          `INSERT INTO task_sessions (id, task_id, workspace_id, agent_profile_id, execution_profile_id, state,
             metadata, is_primary, started_at, updated_at)
           VALUES ($1, $2, 'workspace', $3, 'profile', $4, '{}', false, $5, $5)`,
          [id, taskId, agentProfileId, state, startedAt],
        );
      }
    });
});

/** The different sessions that callers were given. */
function idsOf(ensured: readonly EnsuredSession[]): string[] {
  return [...new Set(ensured.map(({ session }) => session.id))];
}

/** Looks after one more answer of the database, so that whoever is waited for gets on meanwhile. */
async function seenBy(outsider: Outsider, look: () => boolean): Promise<true | undefined> {
  await outsider.query('SELECT 1');
  return look() ? true : undefined;
}

/** Whether anybody waits for a row or a transaction. */
async function areWaiting(outsider: Outsider): Promise<true | undefined> {
  const rows = await outsider.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length > 0 ? true : undefined;
}
