import { Dialect } from '../../src/database/dialect.js';
import { causesOf } from '../../src/errors/causes.js';
import { AgentRemoval } from '../../src/office/agent-removal.service.js';
import { TasksService } from '../../src/office/tasks.service.js';
import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import { SessionTurns } from '../../src/sessions/session-turns.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import { aTask, aWorkspace, anAgent } from '../../src/testing.js';
import { movedBy } from '../support/metrics.js';
import { type Outsider, asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';
import { STATEMENTS, Stage } from './stage.js';

/** SQLite has one writer, whose transactions follow one another: nothing can come between two statements of one. */
describe('office sessions, statement by statement, on postgres', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const sessions = () => reveille().get(SessionsService);

  const newPair = async () => {
    const { id } = await aWorkspace(reveille().app);
    return { taskId: (await aTask(reveille().app, id)).id, agentProfileId: 'agent' };
  };
  type Pair = Awaited<ReturnType<typeof newPair>>;
  const wanted = (pair: Pair) => ({ ...pair, executionProfileId: 'profile' });
  const ensure = (pair: Pair, of = reveille()) => of.get(SessionsService).ensure(wanted(pair));
  const statesOf = async ({ taskId }: Pair) =>
    (await sessions().listOfTask(taskId)).map(({ state }) => state).sort();
  const end = (id: string) => sessions().setState(id, 'COMPLETED');
  const lendOutsider = (work: (outsider: Outsider) => Promise<unknown>) => asOutsider(reveille(), work);

  const countAttempts = (of = reveille()) => jest.spyOn(of.get(OfficeSessionCreator), 'create').mock.calls;
  afterEach(() => jest.restoreAllMocks());

  it('AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-003.2 two callers that have both found nothing get one row', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      stage.together(STATEMENTS.lock, 2);
      const answers = await Promise.all([ensure(pair), ensure(pair)]);
      expect(answers.map(({ created }) => created).sort()).toEqual([false, true]);
      expect(new Set(answers.map(({ session }) => session.id)).size).toBe(1);
      expect(attempts).toHaveLength(2);
      expect(await statesOf(pair)).toEqual(['CREATED']);
    }));

  it('AC-OFFICE-SESSION-IDENTITY-001.1 a caller cannot look between the look and the insert of another', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const insert = stage.stop(STATEMENTS.insert);
      const first = ensure(pair);
      await insert.reached;
      const second = ensure(pair);
      await lendOutsider((outsider) => standsAtTheTask(outsider));
      insert.letGo();
      const { session, created } = await first;
      expect(created).toBe(true);
      expect(await second).toEqual({ session, created: false });
    }));

  // At its rollback it may have read nothing yet: what it could read there would be over when it is used.
  it.each(['rollback', 'lookup'] as const)(
    'AC-OFFICE-SESSION-IDENTITY-003.3 AC-OFFICE-SESSION-IDENTITY-003.4 a caller whose blocker ends after the refusal, before the %s, makes its own at the second attempt',
    (statement) =>
      Stage.on(reveille(), async (stage) => {
        const pair = await newPair();
        const attempts = countAttempts();
        const { caller, blocker } = await refused(stage, pair, STATEMENTS[statement]);
        await end(blocker.id);
        blocker.letGo();
        const { session, created } = await caller;
        expect(created).toBe(true);
        expect(session.id).not.toBe(blocker.id);
        expect(attempts).toHaveLength(2);
        expect(await statesOf(pair)).toEqual(['COMPLETED', 'CREATED']);
      }),
  );

  it('AC-OFFICE-SESSION-IDENTITY-003.3 AC-OFFICE-SESSION-IDENTITY-003.4 a caller whose blockers end twice gets the conflict after two attempts, and has written nothing', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      const moved = await movedBy(reveille(), 'office_sessions_total', async () => {
        const { caller, blocker } = await refused(stage, pair);
        await end(blocker.id);
        const again = blockAgain(stage, pair);
        blocker.letGo();
        const second = await again;
        await end(second.id);
        second.letGo();
        expect(await failureOf(caller)).toBeInstanceOf(OfficeSessionRaceConflict);
      });
      expect(attempts).toHaveLength(2);
      expect(moved).toEqual({ 'result="conflict"': 1 });
      expect(await statesOf(pair)).toEqual(['COMPLETED', 'COMPLETED']);
      expect(await ensure(pair)).toMatchObject({ created: true });
    }));

  /** Brings a caller that has found nothing to a statement after its refusal, and says which session has blocked it. */
  const refused = async (stage: Stage, pair: Pair, statement: RegExp = STATEMENTS.lookup) => {
    const lookup = stage.stop(STATEMENTS.lookup);
    const caller = ensure(pair);
    caller.catch(() => undefined);
    await lookup.reached;
    const blocking = blockAgain(stage, pair, statement);
    lookup.letGo();
    return { caller, blocker: await blocking };
  };

  /** Has the caller's next attempt meet a session that is made at the last moment; it stops at the statement after it. */
  const blockAgain = async (stage: Stage, pair: Pair, statement: RegExp = STATEMENTS.lookup) => {
    const lock = stage.stop(STATEMENTS.lock);
    await lock.reached;
    const { id } = await sessions().launch(wanted(pair));
    const stop = stage.stop(statement);
    lock.letGo();
    await stop.reached;
    return { ...stop, id };
  };

  it.each(['profile', 'another profile'])(
    'AC-OFFICE-SESSION-IDENTITY-001.3 AC-OFFICE-SESSION-IDENTITY-001.9 a session that ends as a caller takes it into use stays over, and the caller gets its own, asking with %s',
    (executionProfileId) =>
      Stage.on(reveille(), async (stage) => {
        const pair = await newPair();
        const { session } = await ensure(pair);
        await sessions().setState(session.id, 'RUNNING');
        await sessions().setState(session.id, 'IDLE');
        const use = stage.stop(STATEMENTS.update);
        const caller = sessions().ensure({ ...pair, executionProfileId });
        await use.reached;
        const over = await end(session.id);
        use.letGo();
        const { session: own, created } = await caller;
        expect(created).toBe(true);
        expect(await sessions().get(session.id)).toEqual(over);
        expect(await sessions().listOfTask(pair.taskId)).toEqual([own, over]);
      }),
  );

  it('AC-OFFICE-SESSION-IDENTITY-003.7 a connection that is cut between look and insert is that failure, leaves nothing, and the next call works', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      const insert = stage.stop(STATEMENTS.insert);
      const caller = failureOf(ensure(pair));
      await insert.reached;
      await lendOutsider((outsider) => cutTheOneInATransaction(outsider));
      insert.letGo();
      const failure = await caller;
      expect(reveille().get(Dialect).isUnavailable(failure)).toBe(true);
      expectNoConflict(failure);
      expect(attempts).toHaveLength(1);
      expect(await statesOf(pair)).toEqual([]);
      expect(await ensure(pair)).toMatchObject({ created: true });
    }));

  it('AC-OFFICE-SESSION-IDENTITY-003.7 a serialization failure at the task, which another has changed, is itself', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      await lendOutsider(async (outsider) => {
        await outsider.query('BEGIN');
        await outsider.query(`UPDATE tasks SET title = 'changed' WHERE id = $1`, [pair.taskId]);
        stage.replace(STATEMENTS.begin, SERIALIZABLE);
        const caller = failureOf(ensure(pair));
        await lendOutsider((watcher) => standsAtTheTask(watcher));
        await outsider.query('COMMIT');
        expectItself(await caller, '40001');
      });
      expect(attempts).toHaveLength(1);
      expect(await statesOf(pair)).toEqual([]);
      expect(await ensure(pair)).toMatchObject({ created: true });
    }));

  it('AC-OFFICE-SESSION-IDENTITY-003.7 a serialization failure between two creators is itself for one, and the other has made the only row', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      stage.replace(STATEMENTS.begin, SERIALIZABLE);
      const insert = stage.stop(STATEMENTS.insert);
      const first = ensure(pair);
      await insert.reached;
      const second = failureOf(ensure(pair));
      // It has its snapshot by now, in which there is no session.
      await lendOutsider((outsider) => standsAtTheTask(outsider));
      insert.letGo();
      const { session } = await first;
      expectItself(await second, '40001');
      expect(attempts).toHaveLength(2);
      expect((await sessions().listOfTask(pair.taskId)).map(({ id }) => id)).toEqual([session.id]);
    }));

  it('AC-OFFICE-SESSION-IDENTITY-003.7 a deadlock is itself', () =>
    Stage.on(reveille(), async (stage) => {
      const pair = await newPair();
      const attempts = countAttempts();
      const insert = stage.stop(STATEMENTS.insert);
      const caller = failureOf(ensure(pair));
      await insert.reached;
      await lendOutsider(async (outsider) => {
        await outsider.query('BEGIN');
        // Whoever looks for a deadlock first gives way: not this one.
        await outsider.query(`SET LOCAL deadlock_timeout = '1h'`);
        await outsider.query('LOCK TABLE task_sessions IN SHARE MODE');
        const task = outsider.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [pair.taskId]);
        await lendOutsider((watcher) => standsAtTheTask(watcher));
        insert.letGo();
        expectItself(await caller, '40P01');
        await task;
        await outsider.query('ROLLBACK');
      });
      expect(attempts).toHaveLength(1);
      expect(await statesOf(pair)).toEqual([]);
      expect(await ensure(pair)).toMatchObject({ created: true });
    }));

  describe('on a server that waits for no lock long', () => {
    const impatient = useReveille(() =>
      TestReveille.start('postgres', { databaseUrl: `${postgresUrl(reveille())}?lock_timeout=50` }),
    );

    it('AC-OFFICE-SESSION-IDENTITY-003.7 a task that somebody holds too long is that failure', async () => {
      const pair = await newPair();
      const attempts = countAttempts(impatient());
      await lendOutsider(async (outsider) => {
        await outsider.query('BEGIN');
        await outsider.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [pair.taskId]);
        const failure = await failureOf(ensure(pair, impatient()));
        expectItself(failure, '55P03');
        expect(impatient().get(Dialect).isLockTimeout(failure)).toBe(true);
      });
      expect(attempts).toHaveLength(1);
      expect(await statesOf(pair)).toEqual([]);
      expect(await ensure(pair, impatient())).toMatchObject({ created: true });
    });
  });

  it.each(['reassigned', 'deleted'] as const)(
    'the session of an agent that is %s ends, even if its turn ends at the same moment',
    (how) =>
      Stage.on(reveille(), async (stage) => {
        const { id: workspaceId } = await aWorkspace(reveille().app);
        const agent = await anAgent(reveille().app, workspaceId);
        const task = await aTask(reveille().app, workspaceId, { assigneeAgentProfileId: agent.id });
        const pair = { taskId: task.id, agentProfileId: agent.id };
        const { session } = await ensure(pair);
        await sessions().setState(session.id, 'RUNNING');
        const retirement = stage.stop(STATEMENTS.update);
        const leaving =
          how === 'reassigned'
            ? reveille().get(TasksService).assign(task.id, null)
            : reveille().get(AgentRemoval).remove(agent.id);
        await retirement.reached;
        await reveille().get(SessionTurns).end(task.id, session.id, { executionProfileId: null });
        retirement.letGo();
        await leaving;
        expect(await statesOf(pair)).toEqual(['COMPLETED']);
      }),
  );
});

const SERIALIZABLE = 'START TRANSACTION ISOLATION LEVEL SERIALIZABLE';

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('It has not failed.');
    },
    (error: unknown) => error,
  );
}

function expectNoConflict(failure: unknown): void {
  expect(causesOf(failure).filter((cause) => cause instanceof OfficeSessionRaceConflict)).toEqual([]);
}

/** The error of the database, by its code, with nothing of a conflict about it. */
function expectItself(failure: unknown, code: string): void {
  expect(causesOf(failure).map((cause) => (cause as { code?: string }).code)).toContain(code);
  expectNoConflict(failure);
}

function standsAtTheTask(outsider: Outsider): Promise<true> {
  return until('somebody waits for a task', async () => {
    const waiting = await outsider.query(
      `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM%tasks%FOR UPDATE%'`,
    );
    return waiting.length > 0 ? true : undefined;
  });
}

async function cutTheOneInATransaction(outsider: Outsider): Promise<void> {
  const those = `FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`;
  expect(await outsider.query(`SELECT pg_terminate_backend(pid) ${those}`)).toHaveLength(1);
  await until('it is gone', async () =>
    (await outsider.query(`SELECT 1 ${those}`)).length === 0 ? true : undefined,
  );
}
