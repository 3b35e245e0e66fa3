import { COALESCING_WINDOW_MS, COMMENT_KEY_PREFIX } from '../../src/scheduler/admission-limits.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy } from '../support/metrics.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace } from '../support/wakes.js';

const about = (taskId: unknown, more: object = {}) => JSON.stringify({ task_id: taskId, ...more });

onEachDatabase('coalescing', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const advance = (ms: number) => {
    reveille().clock.advance(ms);
  };

  /** An office, one of its agents, and wakes for that agent that nobody's allowance binds. */
  const scene = async () => {
    const office = await Workplace.open(reveille());
    const agentProfileId = await office.agent();
    const defaults = { agentProfileId, reason: 'heartbeat', payload: about('t1') };
    return {
      office,
      agentProfileId,
      queued: (wake: object = {}) => office.queued({ ...defaults, ...wake }),
      wake: (wake: object = {}) => office.wake({ ...defaults, ...wake }),
    };
  };

  describe('finds a candidate', () => {
    it('COALESCING-1 of the same agent and reason', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued();
      expect(await wake()).toMatchObject({ outcome: 'coalesced', runId: run.id, gate: 'coalescing' });
      expect(await office.runs()).toHaveLength(1);
    });

    it('COALESCING-1 for any reason, also for one that somebody invented', async () => {
      const { office, wake } = await scene();
      for (const reason of ['task_assigned', 'task_blockers_resolved', 'an_invention']) {
        expect(await wake({ reason })).toMatchObject({ outcome: 'queued' });
        expect(await wake({ reason })).toMatchObject({ outcome: 'coalesced' });
      }
      expect(await office.runs()).toHaveLength(3);
    });

    it('COALESCING-1 in no run of another reason or another agent', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued();
      expect(await wake({ reason: 'queue_run' })).toMatchObject({ outcome: 'queued' });
      expect(await wake({ agentProfileId: await office.agent() })).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
    });

    it.each(['claimed', 'finished', 'failed', 'cancelled'])(
      'COALESCING-1 in no run that is %s',
      async (status) => {
        const { office, queued, wake } = await scene();
        const { id } = await queued();
        await office.alter(id, { status });
        expect(await wake()).toMatchObject({ outcome: 'queued' });
        expect(await office.run(id)).toMatchObject({ status, coalescedCount: 1 });
      },
    );

    it('COALESCING-1 in no run that a worker has claimed a moment ago', async () => {
      const { office, queued, wake } = await scene();
      const { id } = await queued();
      const { workspaceId } = office;
      const request = { workspaceId, agentProfileIds: null, workerId: 'w', bearerTokenId: 'b' };
      const [claim] = await reveille().get(RunsService).claim(request);
      expect(claim?.run.id).toBe(id);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
    });

    it('COALESCING-2 until one millisecond before it is five seconds old', async () => {
      const { queued, wake } = await scene();
      await queued();
      advance(COALESCING_WINDOW_MS - 1);
      expect(await wake()).toMatchObject({ outcome: 'coalesced' });
    });

    it('COALESCING-2 no longer when it is exactly five seconds old', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued();
      advance(COALESCING_WINDOW_MS);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
    });

    it('COALESCING-2 by its own age: merges do not keep it young', async () => {
      const { queued, wake } = await scene();
      await queued();
      advance(COALESCING_WINDOW_MS - 1);
      expect(await wake()).toMatchObject({ outcome: 'coalesced' });
      advance(1);
      expect(await wake()).toMatchObject({ outcome: 'queued' });
    });

    it('COALESCING-3 whose key is not a comment’s, or that has none', async () => {
      const { office, wake } = await scene();
      for (const idempotencyKey of [null, 'k', `x${COMMENT_KEY_PREFIX}1`, COMMENT_KEY_PREFIX.slice(0, -1)]) {
        const agentProfileId = await office.agent();
        expect(await wake({ agentProfileId, idempotencyKey })).toMatchObject({ outcome: 'queued' });
        expect(await wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      }
    });

    it.each(['task_comment', 'follow_up'])(
      'COALESCING-3 not in a run with a comment’s key, whatever its reason: %s',
      async (reason) => {
        const { office, queued, wake } = await scene();
        const keyed = await queued({ reason, idempotencyKey: `${COMMENT_KEY_PREFIX}c1` });
        expect(await wake({ reason })).toMatchObject({ outcome: 'queued' });
        expect(await office.run(keyed.id)).toEqual(keyed);
        expect(await wake({ reason, idempotencyKey: `${COMMENT_KEY_PREFIX}c1` })).toMatchObject({
          outcome: 'deduped',
          runId: keyed.id,
        });
      },
    );

    it('COALESCING-3 in the older run without a key rather than in the newer one with a comment’s', async () => {
      const { office, queued, wake } = await scene();
      const older = await queued();
      advance(1);
      const keyed = await queued({ idempotencyKey: `${COMMENT_KEY_PREFIX}c1` });
      expect(await wake()).toMatchObject({ outcome: 'coalesced', runId: older.id });
      expect(await office.run(keyed.id)).toEqual(keyed);
    });

    it('COALESCING-4 never for a wake with a comment’s key, whatever its reason', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued();
      for (const comment of ['c1', 'c2'])
        expect(await wake({ idempotencyKey: `${COMMENT_KEY_PREFIX}${comment}` })).toMatchObject({
          outcome: 'queued',
        });
      expect(await office.run(run.id)).toEqual(run);
      expect(await office.runs()).toHaveLength(3);
      expect(await wake({ idempotencyKey: 'another' })).toMatchObject({ outcome: 'coalesced' });
    });

    it('COALESCING-8 not in a run that waits for a retry, due or not', async () => {
      const { office, queued, wake } = await scene();
      const { id } = await queued();
      for (const scheduledRetryAt of [-1, 1]) {
        const agentProfileId = await office.agent();
        await office.alter(id, {
          agent_profile_id: agentProfileId,
          scheduled_retry_at: reveille().clock.now() + scheduledRetryAt,
        });
        expect(await wake({ agentProfileId })).toMatchObject({ outcome: 'queued' });
      }
      await office.alter(id, { agent_profile_id: await office.agent(), scheduled_retry_at: null });
      const { agentProfileId } = await office.run(id);
      expect(await wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced', runId: id });
    });

    it('COALESCING-9 in the newest of several', async () => {
      const { office, queued, wake } = await scene();
      const agentProfileId = await office.agent();
      const runs = [];
      for (let index = 0; index < 3; index += 1) {
        runs.push(await queued({ agentProfileId: await office.agent() }));
        advance(1);
      }
      for (const run of runs) await office.alter(run.id, { agent_profile_id: agentProfileId });
      expect(await wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced', runId: runs[2]?.id });
      expect((await office.runs()).map(({ coalescedCount }) => coalescedCount)).toEqual([1, 1, 2]);
    });
  });

  describe('compares tasks', () => {
    const NONE = ['{}', '{"routine_id":"r1"}', '{"task_id":null}', '{"task_id":""}'];
    const UNCOMPARABLE = ['{"task_id":42}', '{"task_id":true}', '{"task_id":["t1"]}', '{"task_id":{}}'];
    const UNREADABLE = ['not json', '', '[]', '"t1"', 'null', '7', '{"task_id":"t1"'];

    it.each(NONE)(
      'COALESCING-5 and takes %s to be about no task, like every other such payload',
      async (stored) => {
        const { office, queued, wake } = await scene();
        const run = await queued({ payload: stored });
        for (const payload of NONE)
          expect(await wake({ payload })).toMatchObject({ outcome: 'coalesced', runId: run.id });
        expect(await office.run(run.id)).toMatchObject({
          payload: NONE.at(-1),
          coalescedCount: 1 + NONE.length,
        });
      },
    );

    it('COALESCING-5 and merges only what is about the same one', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued({ payload: about('t1') });
      for (const payload of [about('t2'), about('T1'), about('t1 '), about('t%'), about('t'), '{}'])
        expect(await wake({ payload })).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
      expect(await wake({ payload: about('t1', { attempt: 2 }) })).toMatchObject({
        outcome: 'coalesced',
        runId: run.id,
      });
    });

    it('COALESCING-5 and keeps a wake about a task out of a run about none', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued({ payload: '{}' });
      expect(await wake({ payload: about('t1') })).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
    });

    it.each(UNCOMPARABLE)('COALESCING-6 and finds %s equal to nothing, not even to itself', async (odd) => {
      const { office, queued, wake } = await scene();
      const { task_id: value } = JSON.parse(odd) as { task_id: unknown };
      const run = await queued({ payload: odd });
      for (const payload of new Set([odd, about(String(value)), about(JSON.stringify(value)), '{}']))
        expect(await wake({ payload })).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
    });

    it('COALESCING-6 and keeps a numeric id out of the run of its text', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued({ payload: about('42') });
      expect(await wake({ payload: about(42) })).toMatchObject({ outcome: 'queued' });
      expect(await office.run(run.id)).toEqual(run);
      expect(await wake({ payload: about('42') })).toMatchObject({ outcome: 'coalesced', runId: run.id });
    });

    it.each(UNREADABLE)(
      'COALESCING-7 and finds a payload that is no object equal to nothing: %s',
      async (odd) => {
        const { office, queued, wake } = await scene();
        const [taskless, named] = [await queued({ payload: '{}' }), await queued()];
        const run = await queued({ payload: odd });
        expect(await wake({ payload: odd })).toMatchObject({ outcome: 'queued' });
        for (const untouched of [taskless, named, run])
          expect(await office.run(untouched.id)).toEqual(untouched);
        expect(await wake({ payload: '{}' })).toMatchObject({ outcome: 'coalesced', runId: taskless.id });
      },
    );
  });

  describe('merges', () => {
    it('COALESCING-10 and counts each one, with the payload of the last', async () => {
      const { office, queued, wake } = await scene();
      const { id } = await queued();
      for (const attempt of [2, 3, 4]) {
        await wake({ payload: about('t1', { attempt }) });
        expect(await office.run(id)).toMatchObject({
          coalescedCount: attempt,
          payload: about('t1', { attempt }),
        });
      }
      expect(await office.runs()).toHaveLength(1);
    });

    it('COALESCING-10 and leaves instant, key and id as they were', async () => {
      const { office, queued, wake } = await scene();
      const run = await queued({ idempotencyKey: 'k1' });
      advance(COALESCING_WINDOW_MS - 1);
      const payload = about('t1', { actor_type: 'user', actor_id: 'u1' });
      expect(await wake({ payload, idempotencyKey: 'k2' })).toMatchObject({ outcome: 'coalesced' });
      expect(await office.runs()).toEqual([
        { ...run, payload, actorType: 'user', actorId: 'u1', coalescedCount: 2 },
      ]);
    });

    it('COALESCING-10 and does not mind that the keys are different', async () => {
      const { office, wake } = await scene();
      const reason = 'task_blockers_resolved';
      for (const idempotencyKey of ['k1', 'k2', null, 'k3']) await wake({ reason, idempotencyKey });
      const [run, ...others] = await office.runs();
      expect(others).toEqual([]);
      expect(run).toMatchObject({ idempotencyKey: 'k1', coalescedCount: 4 });
    });

    it('AC-OFFICE-ASSIGN-RATE-003.4 without a warning, and without moving the allowance’s counter', async () => {
      const office = await Workplace.open(reveille());
      const log = RecordingLogger.of(reveille());
      const { agentProfileId } = await office.queued();
      const merge = async () => {
        expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      };
      expect(await movedBy(reveille(), 'office_assignment_rate_limit_total', merge)).toEqual({});
      expect(await log.during(merge)).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 without using allowance', async () => {
      const office = await Workplace.open(reveille());
      const { agentProfileId } = await office.queued();
      for (let times = 0; times < 7; times += 1)
        expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      expect((await office.wake()).allowance).toMatchObject({ observed: 1 });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 but gives an agent one run for each of its tasks', async () => {
      const { office, wake } = await scene();
      const reason = 'task_assigned';
      for (const payload of [about('a'), about('b')])
        expect(await wake({ reason, payload })).toMatchObject({ outcome: 'queued' });
      expect((await office.runs()).map(({ taskId }) => taskId)).toEqual(['a', 'b']);
    });
  });
});
