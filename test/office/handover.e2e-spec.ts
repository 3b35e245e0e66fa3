import { ALLOWANCE_LIMIT, COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { samplesOf } from '../support/metrics.js';
import { type Office, anOffice } from '../support/office.js';
import { asOutsider } from '../support/outsider.js';
import { pick } from '../support/pick.js';
import { type LogLine, RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import {
  assign,
  conversation,
  keptBy,
  newTask,
  patch,
  runsAbout,
  seat,
  sessionRow,
} from '../support/tasks.js';
import { type Turn, beginTurn } from '../support/turns.js';

/** What any wake that is asked for would move. */
const COUNTERS = [
  'office_assignment_rate_limit_total',
  'office_run_dedup_keyless_total',
  'office_wake_decisions_total',
];

/** The statement that looks for the retries of a previous assignee. */
const RETRIES_OF = /^SELECT .*"scheduled_retry_at" IS NOT NULL/s;

onEachDatabase('handing a task over', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** An office whose task the first agent is at work on. */
  async function atWork(agentCount = 2): Promise<{ office: Office; turn: Turn }> {
    const office = await anOffice(reveille(), agentCount);
    await assign(office.user, office.taskId, pick(office.agents));
    const turn = await beginTurn(office, pick(office.agents));
    return { office, turn };
  }

  /** The types of the events that `work` leaves, in their order. */
  async function eventsOf(office: Office, work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = (await keptBy(reveille(), office)).events.map(({ id }) => id);
    await work();
    const { events } = await keptBy(reveille(), office);
    return events.filter(({ id }) => !before.includes(id)).map(({ type }) => type);
  }

  const stateOf = async (id: string) => (await sessionRow(reveille(), id)).state;

  describe('to another agent', () => {
    it('interrupts the turn of the one before, names its session and ends the conversation', async () => {
      const { office, turn } = await atWork();
      const events = await eventsOf(office, async () => {
        const { interruptedSessionId } = await assign(office.user, office.taskId, pick(office.agents, 1));
        expect(interruptedSessionId).toBe(turn.sessionId);
      });
      expect([...events].sort()).toEqual([
        'run.queued',
        'session.interrupt_requested',
        'session.state_changed',
        'task.updated',
      ]);
      expect(await turn.heartbeat()).toMatchObject({ stop: true, stopReason: 'interrupted' });
      expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
    });

    it('ends a conversation in which nothing runs, and asks no turn to stop', async () => {
      const { office, turn } = await atWork();
      await turn.finish();
      const events = await eventsOf(office, async () => {
        const { interruptedSessionId } = await assign(office.user, office.taskId, pick(office.agents, 1));
        expect(interruptedSessionId).toBe(turn.sessionId);
      });
      expect(events).not.toContain('session.interrupt_requested');
      expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
      // What has ended is no longer there to be named.
      await assign(office.user, office.taskId, pick(office.agents));
      expect((await assign(office.user, office.taskId, pick(office.agents, 1))).interruptedSessionId).toBe(
        null,
      );
    });

    it('touches no other conversation, of the agent or of the task', async () => {
      const { office, turn } = await atWork(3);
      const elsewhere = await conversation(reveille(), await newTask(office), pick(office.agents));
      const others = await conversation(reveille(), office.taskId, pick(office.agents, 2));
      await assign(office.user, office.taskId, pick(office.agents, 1));
      expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
      expect(await sessionRow(reveille(), elsewhere.id)).toEqual(elsewhere);
      expect(await sessionRow(reveille(), others.id)).toEqual(others);
    });

    it.each(['reviewer', 'approver'])('stops the turn of one who stays as %s, and no more', async (role) => {
      const { office, turn } = await atWork();
      await seat(office, office.taskId, pick(office.agents), role);
      const { interruptedSessionId } = await assign(office.user, office.taskId, pick(office.agents, 1));
      expect(interruptedSessionId).toBe(turn.sessionId);
      expect(await turn.heartbeat()).toMatchObject({ stop: true, stopReason: 'interrupted' });
      expect(await stateOf(turn.sessionId)).toBe('RUNNING');
      await turn.finish();
      expect(await stateOf(turn.sessionId)).toBe('IDLE');
    });

    it('ends the conversation of one who only looks on', async () => {
      const { office, turn } = await atWork();
      await seat(office, office.taskId, pick(office.agents), 'watcher');
      await assign(office.user, office.taskId, pick(office.agents, 1));
      expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
    });

    it('interrupts nobody when nobody had the task', async () => {
      const office = await anOffice(reveille());
      const before = await conversation(reveille(), office.taskId, pick(office.agents, 1));
      const { interruptedSessionId, reactions } = await assign(
        office.user,
        office.taskId,
        pick(office.agents),
      );
      expect({ interruptedSessionId, outcomes: reactions.map(({ outcome }) => outcome) }).toEqual({
        interruptedSessionId: null,
        outcomes: ['queued'],
      });
      expect(await sessionRow(reveille(), before.id)).toEqual(before);
    });
  });

  describe('to the agent that has it', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.7, RUN-DEDUP-2 wakes it again and leaves its turn and its conversation alone', async () => {
      const { office, turn } = await atWork();
      const before = await sessionRow(reveille(), turn.sessionId);
      reveille().clock.advance(COALESCING_WINDOW_MS);
      const events = await eventsOf(office, async () => {
        const { interruptedSessionId, reactions } = await assign(
          office.user,
          office.taskId,
          pick(office.agents),
        );
        expect(interruptedSessionId).toBe(null);
        expect(reactions).toEqual([expect.objectContaining({ reason: 'task_assigned', outcome: 'queued' })]);
      });
      expect(events.some((type) => type.startsWith('session.'))).toBe(false);
      expect(await sessionRow(reveille(), turn.sessionId)).toEqual(before);
      expect(await turn.heartbeat()).toMatchObject({ stop: false });
      await turn.finish();
    });
  });

  describe('to nobody', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.9 interrupts and ends as a hand-over does, and asks for no wake', async () => {
      const { office, turn } = await atWork();
      const runs = (await keptBy(reveille(), office)).runs.length;
      const counted = () => Promise.all(COUNTERS.map((name) => samplesOf(reveille(), name)));
      const before = await counted();
      expect(await assign(pick(office.asAgents, 1), office.taskId, null)).toMatchObject({
        task: { assigneeAgentProfileId: null, assignmentGeneration: 2 },
        reactions: [],
        interruptedSessionId: turn.sessionId,
      });
      expect(await counted()).toEqual(before);
      expect(await turn.heartbeat()).toMatchObject({ stop: true, stopReason: 'interrupted' });
      expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
      expect((await keptBy(reveille(), office)).runs).toHaveLength(runs);
    });
  });

  describe('by cancelling it', () => {
    it('interrupts the turn, once, and neither wakes anybody nor ends the conversation', async () => {
      const { office, turn } = await atWork();
      await seat(office, office.taskId, pick(office.agents, 1), 'reviewer');
      const cancel = () => patch(office.user, office.taskId, { state: 'CANCELLED' });
      expect(await cancel()).toMatchObject({ reactions: [], interruptedSessionId: turn.sessionId });
      expect(await turn.heartbeat()).toMatchObject({ stop: true, stopReason: 'interrupted' });
      expect(await stateOf(turn.sessionId)).toBe('RUNNING');
      expect(await cancel()).toMatchObject({ reactions: [], interruptedSessionId: null });
    });

    it('is what no other state does', async () => {
      const { office, turn } = await atWork();
      for (const state of ['COMPLETED', 'BLOCKED', 'REVIEW', 'TODO'])
        expect((await patch(office.user, office.taskId, { state })).interruptedSessionId).toBe(null);
      expect(await turn.heartbeat()).toMatchObject({ stop: false });
    });
  });

  describe('with a retry that waits', () => {
    /** The first agent's only run, put off to be tried again. */
    async function retrying(office: Office, taskId: string): Promise<string> {
      await assign(office.user, taskId, pick(office.agents));
      const { id } = pick(await runsAbout(office, taskId));
      await asOutsider(reveille(), (outsider) =>
        outsider.query('UPDATE runs SET scheduled_retry_at = $1, retry_count = 1 WHERE id = $2', [
          reveille().clock.now() + 60_000,
          id,
        ]),
      );
      return id;
    }

    const endOf = async ({ user }: Office, id: string) => {
      const { body } = await user.get<{ status: string; cancelReason: string | null }>(`/v1/runs/${id}`);
      return [body.status, body.cancelReason];
    };

    it.each([
      ['another', 1],
      ['nobody', null],
    ])('cancels it when the task goes to %s', async (_to, index) => {
      const office = await anOffice(reveille());
      const dropped = await retrying(office, office.taskId);
      const kept = await retrying(office, await newTask(office));
      const events = await eventsOf(office, () =>
        assign(office.user, office.taskId, index === null ? null : pick(office.agents, index)),
      );
      expect(await endOf(office, dropped)).toEqual(['cancelled', 'task_assignee_changed']);
      expect(events).toContain('run.cancelled');
      expect(await endOf(office, kept)).toEqual(['queued', null]);
    });

    it('keeps it when the task goes to the same agent again', async () => {
      const office = await anOffice(reveille());
      const kept = await retrying(office, office.taskId);
      await assign(office.user, office.taskId, pick(office.agents));
      expect(await endOf(office, kept)).toEqual(['queued', null]);
    });

    it('goes through all the same when it cannot be cancelled, and says so', async () => {
      const office = await anOffice(reveille());
      const kept = await retrying(office, office.taskId);
      const logger = RecordingLogger.of(reveille());
      let lines: readonly LogLine[] = [];
      const { task, reactions } = await whileFailing(reveille(), RETRIES_OF, async () => {
        let update: Awaited<ReturnType<typeof assign>> | undefined;
        lines = await logger.during(async () => {
          update = await assign(office.user, office.taskId, pick(office.agents, 1));
        }, 'Handover');
        if (update === undefined) throw new Error('Nothing was assigned.');
        return update;
      });
      expect(task).toMatchObject({ assigneeAgentProfileId: office.agents[1], assignmentGeneration: 2 });
      expect(reactions).toEqual([expect.objectContaining({ outcome: 'queued' })]);
      expect(lines).toEqual([expect.objectContaining({ level: 'warn' })]);
      expect(await endOf(office, kept)).toEqual(['queued', null]);
    });
  });

  describe('whose wake is refused', () => {
    /** The second agent is at work on the task, whose allowance the first has used up by assigning it. */
    async function exhausted() {
      const office = await anOffice(reveille(), 3);
      for (let hop = 0; hop < ALLOWANCE_LIMIT; hop++) {
        reveille().clock.advance(COALESCING_WINDOW_MS);
        await assign(pick(office.asAgents), office.taskId, pick(office.agents, 1 + (hop % 2)));
      }
      const turn = await beginTurn(office, pick(office.agents, 1));
      reveille().clock.advance(COALESCING_WINDOW_MS);
      return { office, turn };
    }

    it.each([
      ['refused to an agent', 'rate_limited'],
      ['admitted to a person', 'queued'],
    ])(
      'AC-OFFICE-ASSIGN-RATE-001.7, AC-OFFICE-ASSIGN-RATE-001.8 leaves all else in place: %s',
      async (_who, outcome) => {
        const { office, turn } = await exhausted();
        const [assigner, agent] = [
          outcome === 'queued' ? office.user : pick(office.asAgents),
          pick(office.agents, 2),
        ];
        const before = (await keptBy(reveille(), office)).runs.length;
        const events = await eventsOf(office, async () => {
          const update = await assign(assigner, office.taskId, agent);
          expect(update).toMatchObject({
            task: { assigneeAgentProfileId: agent, assignmentGeneration: ALLOWANCE_LIMIT + 1 },
            reactions: [{ reason: 'task_assigned', agentProfileId: agent, outcome, error: null }],
            interruptedSessionId: turn.sessionId,
          });
          // No comment comes with an assignment, so no wake for one is to be had.
          expect(update.reactions).toHaveLength(1);
        });
        const expected = ['session.interrupt_requested', 'session.state_changed', 'task.updated'];
        expect([...events].sort()).toEqual(outcome === 'queued' ? ['run.queued', ...expected] : expected);
        expect(await turn.heartbeat()).toMatchObject({ stop: true, stopReason: 'interrupted' });
        expect(await stateOf(turn.sessionId)).toBe('COMPLETED');
        const { tasks, runs, notes } = await keptBy(reveille(), office);
        expect(tasks).toEqual([
          expect.objectContaining({
            assigneeAgentProfileId: agent,
            assignmentGeneration: ALLOWANCE_LIMIT + 1,
          }),
        ]);
        expect(runs).toHaveLength(before + (outcome === 'queued' ? 1 : 0));
        expect(notes).toEqual([]);
      },
    );
  });
});
