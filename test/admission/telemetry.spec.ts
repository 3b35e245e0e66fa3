import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import * as fc from 'fast-check';
import { MetricsService } from '../../src/metrics/metrics.service.js';
import { WAKE_REASONS } from '../../src/runs/wake-reason.js';
import { ALLOWANCE_LIMIT, IDEMPOTENCY_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { ALLOWANCE_REASONS } from '../../src/scheduler/admission-gate.js';
import { AdmissionTelemetry } from '../../src/scheduler/admission-telemetry.js';
import { QUEUE_OUTCOMES } from '../../src/scheduler/queue-outcome.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy, parse, samplesOf } from '../support/metrics.js';
import { type LogLine, RecordingLogger } from '../support/recording-logger.js';
import { pick } from '../support/pick.js';
import { ADMIN_TOKEN, TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, agentAssignment, userAssignment } from '../support/wakes.js';

const ALLOWANCES = 'office_assignment_rate_limit_total';
const DEDUPS = 'office_run_dedup_total';
const KEYLESS = 'office_run_dedup_keyless_total';
const DECISIONS = 'office_wake_decisions_total';

const AGENT_WITHOUT_TASK = JSON.stringify({ actor_type: 'agent', actor_id: 'actor-1' });

const UNRESOLVED = { cause: 'unresolved', detail: 'zero_step_transition' } as const;

onEachDatabase('what admission counts and logs', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => Workplace.open(reveille());
  const log = () => RecordingLogger.of(reveille());
  const telemetry = () => reveille().get(AdmissionTelemetry);

  describe('before anything has happened', () => {
    const labels = async (name: string) => {
      const samples = await samplesOf(reveille(), name);
      expect(new Set(samples.values())).toEqual(new Set([0]));
      return [...samples.keys()].sort();
    };

    it('AC-OFFICE-ASSIGN-RATE-003.1 stands at 0 for each of exactly three reasons', async () => {
      expect(ALLOWANCE_REASONS).toEqual(['allowance_exhausted', 'count_read_failed', 'task_unattributed']);
      expect(await labels(ALLOWANCES)).toEqual(ALLOWANCE_REASONS.map((reason) => `reason="${reason}"`));
    });

    it('RUN-DEDUP-7 stands at 0 for each reason of a closed set, each kind and each queue', async () => {
      const expected = [...WAKE_REASONS, 'custom'].flatMap((reason) =>
        ['windowed', 'durable'].flatMap((kind) =>
          ['runs', 'wakeup'].map((queue) => `reason="${reason}",kind="${kind}",queue="${queue}"`),
        ),
      );
      expect(await labels(DEDUPS)).toEqual(expected.sort());
    });

    it('RUN-DEDUP-4 stands at 0 for each reason of a closed set and each cause', async () => {
      const expected = [...WAKE_REASONS, 'custom'].flatMap((reason) =>
        ['unresolved', 'by_design'].map((cause) => `reason="${reason}",cause="${cause}"`),
      );
      expect(await labels(KEYLESS)).toEqual(expected.sort());
    });

    it('AC-OFFICE-ASSIGN-RATE-003.5 stands at 0 for each outcome', async () => {
      expect(await labels(DECISIONS)).toEqual(QUEUE_OUTCOMES.map((outcome) => `outcome="${outcome}"`).sort());
    });
  });

  describe('of the allowance', () => {
    /** What is logged by `work`, which must move the allowance's counter as told. */
    const linesOf = async (moves: Record<string, number>, work: () => Promise<unknown>) => {
      const logger = log();
      let lines: readonly LogLine[] = [];
      const moved = await movedBy(reveille(), ALLOWANCES, async () => {
        lines = await logger.during(work);
      });
      expect(moved).toEqual(moves);
      return lines;
    };

    it('AC-OFFICE-ASSIGN-RATE-003.1, AC-OFFICE-ASSIGN-RATE-003.3 a refusal adds one and warns with five fields', async () => {
      const office = await open();
      await office.exhaust();
      const agentProfileId = await office.agent();
      const payload = agentAssignment(office.taskId, 'actor-1');
      const lines = await linesOf({ 'reason="allowance_exhausted"': 1 }, () =>
        office.wake({ agentProfileId, payload }),
      );
      expect(lines).toEqual([
        {
          level: 'warn',
          context: 'Admission',
          text: expect.any(String) as string,
          fields: {
            task_id: office.taskId,
            assignee_agent_profile_id: agentProfileId,
            acting_agent_id: 'actor-1',
            observed_count: ALLOWANCE_LIMIT,
            allowance: ALLOWANCE_LIMIT,
          },
        },
      ]);
    });

    it('AC-OFFICE-ASSIGN-RATE-003.3 a refusal tells the count that it saw, also when that is beyond N', async () => {
      const office = await open();
      await office.copy(pick(await office.exhaust()).id);
      const lines = await linesOf({ 'reason="allowance_exhausted"': 1 }, () => office.wake());
      expect(lines[0]?.fields).toMatchObject({ observed_count: ALLOWANCE_LIMIT + 1 });
    });

    it('AC-OFFICE-ASSIGN-RATE-003.1 every refusal adds one', async () => {
      const office = await open();
      await office.exhaust();
      const agents = await office.agents(3);
      const lines = await linesOf({ 'reason="allowance_exhausted"': 3 }, async () => {
        for (const agentProfileId of agents) await office.wake({ agentProfileId });
      });
      expect(lines).toHaveLength(3);
    });

    it('AC-OFFICE-ASSIGN-RATE-003.1 a flood of equal refusals is counted one by one, and cannot flood the log', async () => {
      const office = await open();
      await office.exhaust();
      const agentProfileId = await office.agent();
      const flood = 30;
      const lines = await linesOf({ 'reason="allowance_exhausted"': flood }, async () => {
        for (let refusal = 0; refusal < flood; refusal += 1) await office.wake({ agentProfileId });
      });
      expect(lines.length).toBeGreaterThanOrEqual(1);
      expect(lines.length).toBeLessThan(flood);
      reveille().clock.advance(60_000);
      const later = await linesOf({ 'reason="allowance_exhausted"': 1 }, () =>
        office.wake({ agentProfileId }),
      );
      expect(later).toHaveLength(1);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.3 a wake without a task adds one and warns of it without a task', async () => {
      const office = await open();
      const lines = await linesOf({ 'reason="task_unattributed"': 1 }, () =>
        office.queued({ payload: AGENT_WITHOUT_TASK }),
      );
      expect(lines).toMatchObject([{ level: 'warn' }]);
      expect(lines[0]?.fields).toEqual({
        reason: 'task_assigned',
        allowance: ALLOWANCE_LIMIT,
        acting_agent_id: 'actor-1',
      });
    });

    it.each([
      ['absent', '{"actor_type":"agent"}'],
      ['empty', '{"actor_type":"agent","actor_id":""}'],
      ['null', '{"actor_type":"agent","actor_id":null}'],
      ['no text', '{"actor_type":"agent","actor_id":7}'],
    ])('AC-OFFICE-ASSIGN-RATE-002.3 names no acting agent when that is %s', async (_how, payload) => {
      const office = await open();
      const lines = await linesOf({ 'reason="task_unattributed"': 1 }, () => office.queued({ payload }));
      expect(lines[0]?.fields).toEqual({ reason: 'task_assigned', allowance: ALLOWANCE_LIMIT });
    });

    it('AC-OFFICE-ASSIGN-RATE-003.3 a refusal names no acting agent when there is none', async () => {
      const office = await open();
      await office.exhaust();
      const payload = JSON.stringify({ task_id: office.taskId, actor_type: 'agent', actor_id: '' });
      const lines = await linesOf({ 'reason="allowance_exhausted"': 1 }, () => office.wake({ payload }));
      expect(lines[0]?.fields).not.toHaveProperty('acting_agent_id');
    });

    it('AC-OFFICE-ASSIGN-RATE-003.4 an admission with room left moves nothing and logs nothing', async () => {
      const office = await open();
      expect(await linesOf({}, () => office.exhaust())).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-003.4 an admission out of scope moves nothing and logs nothing', async () => {
      const office = await open();
      await office.exhaust();
      const wakes = async () => {
        await office.queued({ payload: userAssignment(office.taskId) });
        await office.queued({ payload: 'not json' });
        await office.queued({ reason: 'heartbeat' });
      };
      expect(await linesOf({}, wakes)).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-003.6 is published where the dedup counters are', async () => {
      const { app } = reveille();
      const { payload, statusCode, headers } = await (app as NestFastifyApplication).inject({
        url: '/metrics',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      expect(statusCode).toBe(200);
      expect(headers['content-type']).toContain('text/plain');
      for (const name of [ALLOWANCES, DEDUPS, KEYLESS]) {
        expect(payload).toContain(`# TYPE ${name} counter`);
        expect(parse(payload, name)).toEqual(await samplesOf(reveille(), name));
      }
    });
  });

  describe('of decisions', () => {
    it('AC-OFFICE-ASSIGN-RATE-003.5 tells a refusal from all other outcomes, to the caller and in the count', async () => {
      const office = await open();
      await office.spend(ALLOWANCE_LIMIT - 1);
      const agentProfileId = await office.agent();
      const outcomes: string[] = [];
      const wake = async (request: object) => {
        outcomes.push((await office.wake(request)).outcome);
      };
      const moved = await movedBy(reveille(), DECISIONS, async () => {
        await wake({ agentProfileId, idempotencyKey: 'k' });
        await wake({ agentProfileId, idempotencyKey: 'k' });
        await wake({ agentProfileId });
        await wake({});
        await expect(wake({ agentProfileId: 'nobody' })).rejects.toThrow();
      });
      expect(outcomes).toEqual(['queued', 'deduped', 'coalesced', 'rate_limited']);
      expect(moved).toEqual(Object.fromEntries(QUEUE_OUTCOMES.map((outcome) => [`outcome="${outcome}"`, 1])));
    });

    it('AC-OFFICE-ASSIGN-RATE-001.6 names five outcomes, once', () => {
      expect(QUEUE_OUTCOMES).toEqual(['queued', 'coalesced', 'deduped', 'rate_limited', 'none']);
    });
  });

  describe('of keys', () => {
    it('RUN-DEDUP-7 informs of key and reason when the look-back recognises a redelivery', async () => {
      const office = await open();
      await office.queued({ idempotencyKey: 'k' });
      const lines = await log().during(() => office.wake({ idempotencyKey: 'k' }));
      expect(lines).toMatchObject([{ level: 'log' }]);
      expect(lines[0]?.fields).toEqual({ key: 'k', reason: 'task_assigned' });
    });

    it('RUN-DEDUP-7 warns of key, reason and agent when only the unique index does', async () => {
      const office = await open();
      const { agentProfileId } = await office.queued({ idempotencyKey: 'k' });
      reveille().clock.advance(IDEMPOTENCY_WINDOW_MS);
      const lines = await log().during(() => office.wake({ agentProfileId, idempotencyKey: 'k' }));
      expect(lines).toMatchObject([{ level: 'warn' }]);
      expect(lines[0]?.fields).toEqual({ key: 'k', reason: 'task_assigned', agent: agentProfileId });
    });

    it('RUN-DEDUP-7 counts a reason that somebody invented as custom', async () => {
      const office = await open();
      const wake = { reason: 'anything_an_agent_invents', idempotencyKey: 'k' };
      await office.queued(wake);
      expect(await movedBy(reveille(), DEDUPS, () => office.wake(wake))).toEqual({
        'reason="custom",kind="windowed",queue="runs"': 1,
      });
    });

    it('RUN-DEDUP-7 moves nothing for a wake that is queued, merged or refused', async () => {
      const office = await open();
      const moved = await movedBy(reveille(), DEDUPS, async () => {
        const { agentProfileId } = pick(await office.exhaust());
        await office.wake({ agentProfileId, idempotencyKey: 'k' });
        await office.wake({ idempotencyKey: 'another' });
      });
      expect(moved).toEqual({});
    });
  });

  describe('of wakes without a key', () => {
    const report = (work: () => void) => () => {
      work();
      return Promise.resolve();
    };

    it('RUN-DEDUP-4 counts both causes apart', async () => {
      const reports = report(() => {
        telemetry().keyless('task_assigned', UNRESOLVED);
        telemetry().keyless('task_unblocked', { cause: 'by_design' });
        telemetry().keyless('task_unblocked', { cause: 'by_design' });
        telemetry().keyless('an_invention', { cause: 'by_design' });
      });
      expect(await movedBy(reveille(), KEYLESS, reports)).toEqual({
        'reason="task_assigned",cause="unresolved"': 1,
        'reason="task_unblocked",cause="by_design"': 2,
        'reason="custom",cause="by_design"': 1,
      });
    });

    it('RUN-DEDUP-4 logs an unresolved one with its word of detail, which is no label', async () => {
      const reports = report(() => {
        telemetry().keyless('task_assigned', UNRESOLVED);
      });
      const lines = await log().during(reports);
      expect(lines).toMatchObject([{ level: 'log', fields: { reason: 'task_assigned', ...UNRESOLVED } }]);
      expect(await movedBy(reveille(), KEYLESS, reports)).toEqual({
        'reason="task_assigned",cause="unresolved"': 1,
      });
    });

    it('RUN-DEDUP-4 logs nothing that is meant to be so', async () => {
      const lines = await log().during(
        report(() => {
          telemetry().keyless('task_unblocked', { cause: 'by_design' });
        }),
      );
      expect(lines).toEqual([]);
    });

    it('RUN-DEDUP-4 leaves it to producers: the queue guesses no cause', async () => {
      const office = await open();
      expect(await movedBy(reveille(), KEYLESS, () => office.queued())).toEqual({});
    });
  });

  describe('under hostile names', () => {
    it('AC-OFFICE-ASSIGN-RATE-003.2, RUN-DEDUP-7 gets no new label, whatever reasons and ids are sent', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      /** Every sample that is published, without its value. */
      const names = async () => (await reveille().get(MetricsService).text()).replaceAll(/ \S+$/gm, '');
      const before = await names();
      const text = fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((name) => !name.includes('\0')),
        fc.constantFrom(
          '"',
          '\\',
          '\n',
          '{reason="x"}',
          '__proto__',
          'constructor',
          'task_assigned"',
          'none',
        ),
      );
      await fc.assert(
        fc.asyncProperty(text, text, fc.boolean(), async (reason, id, inScope) => {
          const payload = agentAssignment(id, id);
          const wake = { agentProfileId, reason: inScope ? 'task_assigned' : reason, payload };
          await office.wake({ ...wake, idempotencyKey: id });
          expect(await office.wake({ ...wake, idempotencyKey: id })).toMatchObject({ outcome: 'deduped' });
          telemetry().keyless(reason, UNRESOLVED);
        }),
        { numRuns: 40 },
      );
      expect(await names()).toEqual(before);
    });

    it('AC-OFFICE-ASSIGN-RATE-003.2 publishes no id of a task, agent or workspace anywhere', async () => {
      const office = await open();
      const runs = await office.exhaust();
      const agentProfileId = await office.agent();
      await office.wake({ agentProfileId, payload: agentAssignment(office.taskId, 'actor-1') });
      await office.wake({ agentProfileId, payload: AGENT_WITHOUT_TASK });
      const { payload } = await (reveille().app as NestFastifyApplication).inject({ url: '/metrics' });
      const ids = [office.taskId, office.workspaceId, agentProfileId, 'actor-1', ...runs.map(({ id }) => id)];
      for (const id of ids) expect(payload).not.toContain(id);
    });
  });
});
