import type { Socket } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Dialect } from '../../src/database/dialect.js';
import { EventSequencer } from '../../src/events/event-sequencer.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import type { Decision } from '../../src/scheduler/decision.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { type TestDatabase, lastingDatabase, onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { Gate } from '../support/gate.js';
import { movedBy } from '../support/metrics.js';
import { anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';
import { until } from '../support/until.js';
import { Workplace, agentAssignment } from '../support/wakes.js';

const ALLOWANCES = 'office_assignment_rate_limit_total';

/** Fewer than a pool has connections: on PostgreSQL each is at a statement of its own when the server stops. */
const SOME = 16;

/** A counter dies with its server, and is moved nowhere but where the warning is logged: here the log stands for both. */
onEachDatabase('a server that stops while wakes are counted', (database) => {
  let home: TestDatabase;
  let reveille: TestReveille;
  let office: Workplace;

  beforeEach(async () => {
    home = await lastingDatabase(database);
    reveille = await TestReveille.start(database, { databaseUrl: home.url });
    office = await Workplace.open(reveille);
  });
  afterEach(() => home.drop());

  /** Asks for the wakes and answers what became of each, while `atCount` is called before each is counted. */
  const settle = (wakes: readonly (() => Promise<Decision>)[], atCount: () => Promise<void> | void) =>
    intercepting(
      reveille,
      async (statement) => {
        if (SHAPES.count.test(statement.sql)) await atCount();
        return statement;
      },
      () => Promise.allSettled(wakes.map((wake) => wake())),
    );

  /** The runs that are found when a server is started again, and how many of them have their event. */
  const found = async () => {
    const next = await TestReveille.start(database, { databaseUrl: home.url });
    const events = `SELECT id FROM events WHERE type = 'run.queued'`;
    const answer = {
      runs: await office.at(next).runs(),
      events: await office.at(next).sql<object[]>(events),
    };
    await next.stop();
    return answer;
  };

  it('AC-OFFICE-ASSIGN-RATE-002.2 gives the caller the error, and neither admits the wake nor says that it did', async () => {
    const spent = await office.exhaust();
    const agentProfileId = await office.agent();
    // A stopping server waits for events to be numbered, and on SQLite they would wait for the wake that waits for it.
    await reveille.get(EventSequencer).catchUp();
    const dialect = reveille.get(Dialect);
    const lines = await RecordingLogger.of(reveille).during(async () => {
      const [settled] = await settle([() => office.wake({ agentProfileId })], () => reveille.stop());
      expect(settled).toEqual({ status: 'rejected', reason: expect.any(Error) as Error });
      expect(dialect.isUnavailable((settled as PromiseRejectedResult).reason)).toBe(true);
    });
    expect(lines).toEqual([]);
    const { runs } = await found();
    expect(runs.map(({ id }) => id)).toEqual(spent.map(({ id }) => id));
  });

  it('AC-OFFICE-ASSIGN-RATE-002.2 leaves each of many wakes a decision with a run, or an error, and nothing by halves', async () => {
    const wakes = (await office.agents(SOME)).map(
      (agentProfileId, task) => () =>
        office.wake({ agentProfileId, payload: agentAssignment(`task-${task}`) }),
    );
    const dialect = reveille.get(Dialect);
    let stopped: Promise<void> | undefined;
    let settled: readonly PromiseSettledResult<Decision>[] = [];
    const lines = await RecordingLogger.of(reveille).during(async () => {
      settled = await settle(wakes, () => {
        stopped ??= reveille.stop();
      });
      await stopped;
    });
    expect(lines).toEqual([]);
    const decisions = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const errors = settled.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []));
    expect(
      decisions.filter(({ outcome, allowance }) => outcome !== 'queued' || allowance?.observed !== 0),
    ).toEqual([]);
    expect(errors.filter((error) => !dialect.isUnavailable(error))).toEqual([]);

    const { runs, events } = await found();
    // One that was committed in the last moment may be there although its caller could not be told.
    expect(runs.map(({ id }) => id)).toEqual(expect.arrayContaining(decisions.map(({ runId }) => runId)));
    expect(events).toHaveLength(runs.length);
  });
});

onEachDatabase('a caller who leaves while the wake is counted', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  it('AC-OFFICE-ASSIGN-RATE-002.2 calls nothing off: the wake is counted and decided as if the caller had stayed', async () => {
    const { admin, user, taskId, agents, workspaceId } = await anOffice(reveille());
    const [assigner, assignee] = [pick(agents), pick(agents, 1)];
    const token = await admin.post<{ token: string }>(`/v1/agents/${assigner}/tokens`);
    const app = reveille().app as NestFastifyApplication;
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/v1/tasks/${taskId}`;
    const [isCounting, hasLeft] = [new Gate(), new Gate()];
    app.getHttpServer().once('connection', (socket: Socket) => {
      socket.once('close', () => {
        hasLeft.open();
      });
    });
    const leave = new AbortController();
    const assign = async () => {
      const asked = fetch(url, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token.body.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ assigneeAgentProfileId: assignee }),
        signal: leave.signal,
      });
      await isCounting.passed;
      leave.abort();
      await expect(asked).rejects.toThrow();
      await until('the wake is decided', async () => {
        const runs = await user.get<{ items: object[] }>(`/v1/runs?taskId=${taskId}`);
        return runs.body.items.length === 1 ? true : undefined;
      });
    };
    const isLeft = () =>
      intercepting(
        reveille(),
        async (statement) => {
          if (SHAPES.count.test(statement.sql)) {
            isCounting.open();
            await hasLeft.passed;
          }
          return statement;
        },
        assign,
      );
    const moved = await movedBy(reveille(), ALLOWANCES, async () => {
      expect(await RecordingLogger.of(reveille()).during(isLeft)).toEqual([]);
    });
    expect(moved).toEqual({});
    const decided = await user.get<{ items: object[] }>(`/v1/runs?agentProfileId=${assignee}`);
    expect(decided.body.items).toMatchObject([
      { workspaceId, taskId, actorType: 'agent', actorId: assigner },
    ]);
  });
});

/** SQLite's connection lives in our own process: nobody else ends it, and no statement of its takes too long. */
describe('a count that is ended from outside on postgres', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));
  const SHUTDOWN = 'SELECT pg_terminate_backend(pg_backend_pid())';
  const TIMEOUT = 'SET LOCAL statement_timeout = 1; SELECT pg_sleep(600)';

  const scene = async () => {
    const office = await Workplace.open(reveille());
    await office.exhaust();
    const agentProfileId = await office.agent();
    return { office, agentProfileId };
  };

  it('AC-OFFICE-ASSIGN-RATE-002.2 is the caller’s error when its connection is shut down', async () => {
    const { office, agentProfileId } = await scene();
    const wake = () => office.wake({ agentProfileId });
    const moved = await movedBy(reveille(), ALLOWANCES, async () => {
      const lines = await RecordingLogger.of(reveille()).during(async () => {
        await expect(whileFailing(reveille(), SHAPES.count, wake, SHUTDOWN)).rejects.toMatchObject({
          isCutShort: true,
          cause: { code: '57P01' },
        });
      });
      expect(lines).toEqual([]);
    });
    expect(moved).toEqual({});
    expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT);
    expect(await wake()).toMatchObject({ outcome: 'rate_limited' });
  });

  it('AC-OFFICE-ASSIGN-RATE-002.2 is a failed read when it has taken too long: the connection is there to insert with', async () => {
    const { office, agentProfileId } = await scene();
    const wake = () => office.wake({ agentProfileId });
    const moved = await movedBy(reveille(), ALLOWANCES, async () => {
      expect(await whileFailing(reveille(), SHAPES.count, wake, TIMEOUT)).toMatchObject({
        outcome: 'queued',
        allowance: { observed: null },
      });
    });
    expect(moved).toEqual({ 'reason="count_read_failed"': 1 });
    expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT + 1);
  });

  it('AC-OFFICE-ASSIGN-RATE-002.2 is explained to nobody as a wake that would be admitted', async () => {
    const { office, agentProfileId } = await scene();
    const request = { agentProfileId, reason: 'task_assigned', payload: agentAssignment(office.taskId) };
    const explain = () => reveille().get(SchedulerService).explain(request);
    expect(await explain()).toMatchObject({ outcome: 'rate_limited' });
    await expect(whileFailing(reveille(), SHAPES.count, explain, SHUTDOWN)).rejects.toMatchObject({
      cause: { code: '57P01' },
    });
  });
});
