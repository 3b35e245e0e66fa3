import { createHash } from 'node:crypto';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { type Office, anOffice } from '../support/office.js';
import { asOutsider } from '../support/outsider.js';
import { pick } from '../support/pick.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';
import { assign, block, newTask, patch, runOf, runsAbout, told } from '../support/tasks.js';

const KEYLESS = 'office_run_dedup_keyless_total';

/** The statement that asks what a blocked task waits for. */
const BLOCKERS_OF = /^SELECT .*"blocker"\."task_id" = [?$]/s;

const LEASE_MS = 30_000;

/** Computed here from the rule and nothing else: bytes ascending, commas between, SHA-256 in lower-case hex. */
function digest(ids: readonly string[]): string {
  const sorted = [...ids].sort((one, other) => Buffer.from(one).compare(Buffer.from(other)));
  return createHash('sha256')
    .update(Buffer.from(sorted.join(','), 'utf8'))
    .digest('hex');
}

onEachDatabase('what the end of a task wakes', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const finish = (office: Office, taskId: string) => patch(office.user, taskId, { state: 'COMPLETED' });

  /** A task of the second agent, and the tasks that it waits for. */
  async function blocked(office: Office, blockerCount: number, input: object = {}) {
    const taskId = await newTask(office, { assigneeAgentProfileId: pick(office.agents, 1), ...input });
    const blockers: string[] = [];
    while (blockers.length < blockerCount) {
      const blocker = await newTask(office);
      await block(office, taskId, blocker);
      blockers.push(blocker);
    }
    return { taskId, blockers };
  }

  /** A parent task of the second agent, and its parts. */
  async function parted(office: Office, childCount: number, input: object = {}) {
    const taskId = await newTask(office, { assigneeAgentProfileId: pick(office.agents, 1), ...input });
    const children: string[] = [];
    while (children.length < childCount) children.push(await newTask(office, { parentId: taskId }));
    return { taskId, children };
  }

  describe('of its last blocker', () => {
    it('RUN-DEDUP-1 the assignee of the task that waited, under a key of the sorted blockers', async () => {
      const office = await anOffice(reveille());
      const { taskId } = await blocked(office, 0);
      const blockers = [];
      // In this order a dictionary and the bytes disagree, and so does the order of their making.
      for (const id of ['b', 'B', 'a-z', 'aa', 'a.b'].map((name) => `${name}-${taskId}`)) {
        blockers.push(await newTask(office, { id }));
        await block(office, taskId, id);
      }
      const last = pick(blockers, blockers.length - 1);
      for (const blocker of blockers.slice(0, -1))
        expect((await finish(office, blocker)).reactions).toEqual([]);
      const { reactions } = await patch(pick(office.asAgents), last, { state: 'COMPLETED' });
      expect(told(reactions)).toEqual([['task_blockers_resolved', office.agents[1], 'queued']]);
      expect(await runOf(office, reactions[0])).toMatchObject({
        idempotencyKey: `task_blockers_resolved:${taskId}:${pick(office.agents, 1)}:${digest(blockers)}`,
        payload: {
          reason: 'task_blockers_resolved',
          task_id: taskId,
          workspace_id: office.workspaceId,
          actor_type: 'agent',
          actor_id: office.agents[0],
          resolved_blocker_task_id: last,
        },
      });
    });

    it('every task that waited for it, and none that waits for another still', async () => {
      const office = await anOffice(reveille(), 3);
      const shared = await newTask(office);
      const assigneeAgentProfileId = pick(office.agents, 2);
      const free = [await newTask(office, { assigneeAgentProfileId }), (await blocked(office, 0)).taskId];
      const held = await blocked(office, 1);
      for (const taskId of [...free, held.taskId]) await block(office, taskId, shared);
      const { reactions } = await finish(office, shared);
      const runs = await Promise.all(reactions.map((reaction) => runOf(office, reaction)));
      expect(runs.map(({ payload }) => payload['task_id']).sort()).toEqual([...free].sort());
      expect(told((await finish(office, pick(held.blockers))).reactions)).toEqual([
        ['task_blockers_resolved', office.agents[1], 'queued'],
      ]);
    });

    it('counts a cancelled blocker as one that holds nothing up, but is woken by none', async () => {
      const office = await anOffice(reveille());
      const { taskId, blockers } = await blocked(office, 2);
      expect((await finish(office, pick(blockers))).reactions).toEqual([]);
      expect((await patch(office.user, pick(blockers, 1), { state: 'CANCELLED' })).reactions).toEqual([]);
      expect(await runsAbout(office, taskId)).toEqual([]);

      const other = await blocked(office, 2);
      await patch(office.user, pick(other.blockers), { state: 'CANCELLED' });
      expect((await finish(office, pick(other.blockers, 1))).reactions).toHaveLength(1);
    });

    it('nobody when the task that waited is closed, or nobody is assigned to it', async () => {
      const office = await anOffice(reveille());
      const last = await newTask(office);
      for (const input of [{ state: 'COMPLETED' }, { state: 'CANCELLED' }])
        await block(office, (await blocked(office, 0, input)).taskId, last);
      await block(office, await newTask(office), last);
      expect((await finish(office, last)).reactions).toEqual([]);
      const open = await blocked(office, 1);
      expect((await finish(office, pick(open.blockers))).reactions).toHaveLength(1);
    });

    it('nobody once the blocker was taken away, nor at its taking away', async () => {
      const office = await anOffice(reveille());
      const { taskId, blockers } = await blocked(office, 1);
      const moves = await movedBy(reveille(), KEYLESS, async () => {
        await office.user.delete(`/v1/tasks/${taskId}/blockers/${pick(blockers)}`);
        expect((await finish(office, pick(blockers))).reactions).toEqual([]);
      });
      expect(moves).toEqual({});
      expect(await runsAbout(office, taskId)).toEqual([]);
    });

    it('RUN-DEDUP-1 is the same occurrence when the same blockers are resolved once more', async () => {
      const office = await anOffice(reveille());
      const { taskId, blockers } = await blocked(office, 2);
      await finish(office, pick(blockers));
      const first = await finish(office, pick(blockers, 1));
      await patch(office.user, pick(blockers, 1), { state: 'TODO' });
      const again = await finish(office, pick(blockers, 1));
      expect(again.reactions[0]).toMatchObject({ outcome: 'deduped', runId: first.reactions[0]?.runId });
      const added = await newTask(office);
      await block(office, taskId, added);
      reveille().clock.advance(LEASE_MS);
      expect(told((await finish(office, added)).reactions)).toEqual([
        ['task_blockers_resolved', office.agents[1], 'queued'],
      ]);
      expect(await runsAbout(office, taskId)).toHaveLength(2);
    });

    it('RUN-DEDUP-4 a failed read is no empty set: it is logged with the task, and tried again', async () => {
      const office = await anOffice(reveille());
      const { taskId, blockers } = await blocked(office, 1);
      const logger = RecordingLogger.of(reveille());
      let reactions: readonly unknown[] = ['not yet'];
      const lines = await logger.during(async () => {
        expect(
          await movedBy(reveille(), KEYLESS, async () => {
            ({ reactions } = await whileFailing(reveille(), BLOCKERS_OF, () =>
              finish(office, pick(blockers)),
            ));
          }),
        ).toEqual({});
      }, 'Reactivity');
      expect(reactions).toEqual([]);
      expect(lines).toEqual([
        expect.objectContaining({
          level: 'error',
          fields: {
            task_id: pick(blockers),
            reason: 'task_blockers_resolved',
            error: expect.stringContaining(taskId) as string,
          },
        }),
      ]);
      expect(await runsAbout(office, taskId)).toEqual([]);
      reveille().clock.advance(LEASE_MS);
      await reveille().get(Sweeps).sweep();
      expect(await runsAbout(office, taskId)).toHaveLength(1);
    });

    // SQLite's one writer lets nothing happen between two statements of a transaction.
    if (database === 'postgres')
      it('an empty set of blockers is no occurrence, not even when it became empty in between', async () => {
        const office = await anOffice(reveille());
        const { taskId, blockers } = await blocked(office, 1);
        let taken = 0;
        const { reactions } = await intercepting(
          reveille(),
          async (statement) => {
            if (BLOCKERS_OF.test(statement.sql)) {
              taken += 1;
              await asOutsider(reveille(), (outsider) =>
                outsider.query('DELETE FROM task_blockers WHERE task_id = $1', [taskId]),
              );
            }
            return statement;
          },
          () => finish(office, pick(blockers)),
        );
        expect(taken).toBe(1);
        expect(reactions).toEqual([]);
        expect(await runsAbout(office, taskId)).toEqual([]);
      });
  });

  describe('of the last part of another', () => {
    it('RUN-DEDUP-1 the assignee of the whole, under a key of the sorted parts', async () => {
      const office = await anOffice(reveille());
      const { taskId, children } = await parted(office, 3);
      expect((await finish(office, pick(children))).reactions).toEqual([]);
      expect((await patch(office.user, pick(children, 1), { state: 'CANCELLED' })).reactions).toEqual([]);
      const { reactions } = await finish(office, pick(children, 2));
      expect(told(reactions)).toEqual([['task_children_completed', office.agents[1], 'queued']]);
      expect(await runOf(office, reactions[0])).toMatchObject({
        idempotencyKey: `task_children_completed:${taskId}:${pick(office.agents, 1)}:${digest(children)}`,
        payload: { task_id: taskId, actor_type: 'user', child_task_id: pick(children, 2) },
      });
    });

    it('RUN-DEDUP-1 how a part ended is no part of the key, a new part is', async () => {
      const office = await anOffice(reveille());
      const { taskId, children } = await parted(office, 2);
      await patch(office.user, pick(children), { state: 'CANCELLED' });
      const first = await finish(office, pick(children, 1));
      const again = await finish(office, pick(children));
      expect(again.reactions[0]).toMatchObject({ outcome: 'deduped', runId: first.reactions[0]?.runId });
      const added = await newTask(office, { parentId: taskId });
      reveille().clock.advance(LEASE_MS);
      const { reactions } = await finish(office, added);
      expect((await runOf(office, reactions[0])).idempotencyKey).toContain(digest([...children, added]));
    });

    it('nobody when the whole is closed, or nobody is assigned to it', async () => {
      const office = await anOffice(reveille());
      for (const input of [{ state: 'COMPLETED' }, { state: 'CANCELLED' }]) {
        const { children } = await parted(office, 1, input);
        expect((await finish(office, pick(children))).reactions).toEqual([]);
      }
      const parentId = await newTask(office);
      expect((await finish(office, await newTask(office, { parentId }))).reactions).toEqual([]);
    });
  });

  it('wakes for both: whoever waited for the task, and whoever it was the last part of the work of', async () => {
    const office = await anOffice(reveille(), 3);
    const whole = await parted(office, 1);
    const last = pick(whole.children);
    const waiting = await newTask(office, { assigneeAgentProfileId: pick(office.agents, 2) });
    await block(office, waiting, last);
    expect(told((await finish(office, last)).reactions)).toEqual([
      ['task_blockers_resolved', office.agents[2], 'queued'],
      ['task_children_completed', office.agents[1], 'queued'],
    ]);
  });

  it('wakes by a finishing that comes with an assignment and a comment as well', async () => {
    const office = await anOffice(reveille());
    const { blockers } = await blocked(office, 1);
    const { reactions } = await patch(office.user, pick(blockers), {
      state: 'COMPLETED',
      assigneeAgentProfileId: office.agents[0],
      comment: { body: 'Done.' },
    });
    expect(told(reactions)).toEqual([
      ['task_blockers_resolved', office.agents[1], 'queued'],
      ['task_assigned', office.agents[0], 'queued'],
    ]);
  });

  describe('when the last two end at the same moment', () => {
    const ROUNDS = 12;

    it('RUN-DEDUP-3 whoever waited for both is woken exactly once, and no finishing fails', async () => {
      const office = await anOffice(reveille());
      for (let round = 0; round < ROUNDS; round++) {
        const { taskId, blockers } = await blocked(office, 2);
        await Promise.all(blockers.map((blocker) => finish(office, blocker)));
        const runs = await runsAbout(office, taskId);
        expect(runs.map(({ reason }) => reason)).toEqual(['task_blockers_resolved']);
        expect(runs[0]?.idempotencyKey).toContain(digest(blockers));
      }
    });

    it('RUN-DEDUP-3 whoever both were parts of the work of is woken exactly once', async () => {
      const office = await anOffice(reveille());
      for (let round = 0; round < ROUNDS; round++) {
        const { taskId, children } = await parted(office, 3);
        await Promise.all(children.map((child) => finish(office, child)));
        expect((await runsAbout(office, taskId)).map(({ reason }) => reason)).toEqual([
          'task_children_completed',
        ]);
      }
    });
  });

  it('wakes the assignee of the moment when a blocked task is given away and back before the end', async () => {
    const office = await anOffice(reveille());
    const { taskId, blockers } = await blocked(office, 1);
    await assign(office.user, taskId, pick(office.agents));
    expect(told((await finish(office, pick(blockers))).reactions)).toEqual([
      ['task_blockers_resolved', office.agents[0], 'queued'],
    ]);
  });
});
