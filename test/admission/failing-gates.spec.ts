import { randomUUID } from 'node:crypto';
import { Transactions } from '../../src/database/transactions.js';
import { causesOf } from '../../src/errors/causes.js';
import type { AdmissionGate } from '../../src/scheduler/admission-gate.js';
import { ADMISSION_GATES } from '../../src/scheduler/admission-order.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { SchedulerService, type Settled } from '../../src/scheduler/scheduler.service.js';
import { anAgent } from '../../src/testing.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { ApplicationRole } from '../support/application-role.js';
import { freshDatabase, onEachDatabase } from '../support/databases.js';
import { SHAPES, whileDenied, whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { type LogLine, RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { ASSIGNER, Workplace, agentAssignment } from '../support/wakes.js';

/** What each gate reads, in the order of the gates; a column that it judges by; and what it declares for a failed read. */
const READS = [
  { gate: 'agent_status', read: 'agent', column: ['agents', 'status'], declared: 'raise' },
  { gate: 'workspace_pause', read: 'pause', column: ['workspace_pauses', 'released_at'], declared: 'closed' },
  { gate: 'idempotency', read: 'key', column: ['runs', 'idempotency_key'], declared: 'raise' },
  { gate: 'idempotency', read: 'mergedKey', column: ['run_wakes', 'idempotency_key'], declared: 'raise' },
  { gate: 'coalescing', read: 'mergeTarget', column: ['runs', 'scheduled_retry_at'], declared: 'raise' },
  { gate: 'assignment_allowance', read: 'count', column: ['runs', 'actor_type'], declared: 'open' },
] as const;

type Read = Pick<(typeof READS)[number], 'read' | 'column'>;

const COUNT = READS[5];

/** How a wake ends that is decided by the gate, in the order of the gates. */
const DECIDED = {
  agent_status: 'AgentNotRunnableError',
  workspace_pause: 'WorkspacePausedError',
  idempotency: 'deduped',
  coalescing: 'coalesced',
  assignment_allowance: 'rate_limited',
} as const;

const GATES = Object.keys(DECIDED) as (keyof typeof DECIDED)[];

/** How a wake ends that a gate could not judge, by what the gate declares. */
const DECLARED = { raise: 'FactReadError', closed: 'PauseGateUnavailableError', open: 'queued' } as const;

const ALLOWANCES = 'office_assignment_rate_limit_total';
const COUNT_READ_FAILED = { 'reason="count_read_failed"': 1 };

/** A way of making a gate's own statement fail, and how the driver says that it has. */
interface Way {
  readonly why: string;
  readonly code: string;
  readonly words: RegExp;
  readonly whileBroken: <T>(read: Read, work: () => Promise<T>) => Promise<T>;
}

onEachDatabase('a gate whose own read fails', (database) => {
  let role: ApplicationRole | undefined;
  const reveille = useReveille(async () => {
    if (database === 'sqlite') return TestReveille.start(database);
    role = await ApplicationRole.on(await freshDatabase(database));
    return TestReveille.start(database, { databaseUrl: role.url, migrate: false });
  });
  afterAll(() => role?.drop());

  const rejected: Way = {
    why: 'the database rejects the statement',
    ...(database === 'sqlite'
      ? { code: 'SQLITE_ERROR', words: /no such table/ }
      : { code: '42P01', words: /relation .* does not exist/ }),
    whileBroken: ({ read }, work) => whileFailing(reveille(), SHAPES[read], work),
  };
  // SQLite knows neither roles nor privileges.
  const denied: Way = {
    why: 'the server may not read a column',
    code: '42501',
    words: /permission denied for table runs/,
    whileBroken: ({ read, column: [table, name] }, work) => {
      if (role === undefined) throw new Error('The server owns its database.');
      return whileDenied(reveille(), SHAPES[read], { role, column: { table, name } }, work);
    },
  };
  const ways = database === 'sqlite' ? [rejected] : [rejected, denied];

  const queue = (wakes: Parameters<SchedulerService['queueRuns']>[0]) =>
    reveille().get(SchedulerService).queueRuns(wakes);

  /** An office, and for each gate a wake that passes all gates before it and is decided there. */
  const scene = async () => {
    const [office, paused] = [await Workplace.open(reveille()), await Workplace.open(reveille())];
    const [fresh, nobodyToWake] = [await office.agent(), await paused.agent()];
    await reveille().get(WorkspacesService).pause(paused.workspaceId, '', { kind: 'user', id: 'a-person' });
    const { agentProfileId: busy } = pick(await office.exhaust());
    await office.wake({ agentProfileId: busy, idempotencyKey: 'merged' });
    const keyed = (agentProfileId: string, idempotencyKey: string = randomUUID()) => ({
      agentProfileId,
      reason: 'task_assigned',
      payload: agentAssignment(office.taskId),
      idempotencyKey,
    });
    const wakes = () => [
      keyed('unknown'),
      keyed(nobodyToWake),
      keyed(busy, 'merged'),
      keyed(busy),
      keyed(fresh),
    ];
    return { office, wakes };
  };

  it('AC-OFFICE-ASSIGN-RATE-002.2 has declared what that means: an error, closed, or, for the allowance alone, open', () => {
    const gates = reveille().app.get<readonly AdmissionGate[]>(ADMISSION_GATES, { strict: false });
    const declared = new Map<string, string>(READS.map((row) => [row.gate, row.declared]));
    expect(gates.map(({ name, onReadFailure }) => [name, onReadFailure])).toEqual([...declared]);
    expect(GATES).toEqual([...declared.keys()]);
  });

  describe.each(ways)('because $why', ({ code, words, whileBroken }) => {
    it.each(READS)(
      'AC-OFFICE-ASSIGN-RATE-002.2 does what it has declared, and the gates before it answer as ever: $gate ($read), $declared',
      async ({ gate, declared, ...read }) => {
        const { office, wakes } = await scene();
        expect((await queue(wakes())).map(endingOf)).toEqual(Object.values(DECIDED));

        const before = await office.runs();
        let settled: readonly Settled[] = [];
        const moved = await movedBy(reveille(), ALLOWANCES, async () => {
          settled = await whileBroken(read, () => queue(wakes()));
        });

        const place = GATES.indexOf(gate);
        // No later gate decides what this one could not judge.
        const expected = GATES.map((name, index) => (index < place ? DECIDED[name] : DECLARED[declared]));
        expect(settled.map(endingOf)).toEqual(expected);
        for (const error of settled.slice(place).flatMap(errorOf))
          expect(causesOf(error)).toContainEqual(expect.objectContaining({ name: 'QueryFailedError', code }));
        expect(moved).toEqual(declared === 'open' ? COUNT_READ_FAILED : {});
        expect(await office.runs()).toHaveLength(before.length + (declared === 'open' ? 1 : 0));
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-002.2 admits beyond the allowance what it cannot count, also inside a caller’s transaction, and says so once that has committed', async () => {
      const office = await Workplace.open(reveille());
      await office.exhaust();
      const agentProfileId = await office.agent();
      const log = RecordingLogger.of(reveille());
      const wake = async () => {
        expect(await office.wake({ agentProfileId })).toMatchObject({
          outcome: 'queued',
          admitted: true,
          gate: null,
          allowance: { limit: ALLOWANCE_LIMIT, observed: null, retryAt: null },
        });
      };
      const inCallersTransaction = () =>
        reveille()
          .get(Transactions)
          .run(async () => {
            const { id } = await anAgent(reveille().app, office.workspaceId);
            expect(await movedBy(reveille(), ALLOWANCES, wake)).toEqual({});
            return id;
          });

      let lines: readonly LogLine[] = [];
      let writtenBefore = '';
      const moved = await movedBy(reveille(), ALLOWANCES, async () => {
        lines = await log.during(async () => {
          writtenBefore = await whileBroken(COUNT, inCallersTransaction);
        });
      });
      expect(moved).toEqual(COUNT_READ_FAILED);
      expect(lines).toEqual([
        {
          level: 'warn',
          context: 'Admission',
          text: expect.any(String) as string,
          fields: {
            task_id: office.taskId,
            assignee_agent_profile_id: agentProfileId,
            acting_agent_id: ASSIGNER,
            allowance: ALLOWANCE_LIMIT,
            error: expect.stringMatching(words) as string,
          },
        },
      ]);
      expect(await office.runs()).toHaveLength(ALLOWANCE_LIMIT + 1);
      expect(await office.queued({ agentProfileId: writtenBefore, reason: 'heartbeat' })).toBeDefined();
    });
  });
});

/** The outcome, or the class of the error. */
function endingOf(settled: Settled): string {
  return 'decision' in settled ? settled.decision.outcome : (settled.error as Error).constructor.name;
}

function errorOf(settled: Settled): unknown[] {
  return 'error' in settled ? [settled.error] : [];
}
