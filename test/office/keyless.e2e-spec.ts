import { COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { type LogLine, RecordingLogger } from '../support/recording-logger.js';
import { spendRetries } from '../support/retries.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { assign, comment, newTask, patch, runsAbout, seat } from '../support/tasks.js';

const KEYLESS = 'office_run_dedup_keyless_total';

onEachDatabase('wakes that have no key', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** What the counter moved by and what was logged, while `work` ran. */
  async function reported(work: () => Promise<unknown>) {
    let lines: readonly LogLine[] = [];
    const logger = RecordingLogger.of(reveille());
    const moves = await movedBy(reveille(), KEYLESS, async () => {
      lines = await logger.during(work);
    });
    return { moves, lines };
  }

  const taskIn = (office: Office, state: string) =>
    newTask(office, { state, assigneeAgentProfileId: pick(office.agents) });

  it.each([
    ['task_unblocked', 'BLOCKED', 'TODO'],
    ['task_reopened', 'CANCELLED', 'IN_PROGRESS'],
  ])('RUN-DEDUP-4 %s has none on purpose: counted, and not logged', async (reason, from, to) => {
    const office = await anOffice(reveille());
    const taskId = await taskIn(office, from);
    expect(await reported(() => patch(office.user, taskId, { state: to }))).toEqual({
      moves: { [`reason="${reason}",cause="by_design"`]: 1 },
      lines: [],
    });
    expect(await runsAbout(office, taskId)).toEqual([
      expect.objectContaining({ reason, status: 'queued', idempotencyKey: null }),
    ]);
  });

  it('RUN-DEDUP-4 a review is counted for each who is asked', async () => {
    const office = await anOffice(reveille(), 3);
    const taskId = await taskIn(office, 'IN_PROGRESS');
    await seat(office, taskId, pick(office.agents, 1), 'reviewer');
    await seat(office, taskId, pick(office.agents, 2), 'approver');
    expect(await reported(() => patch(office.user, taskId, { state: 'REVIEW' }))).toEqual({
      moves: { 'reason="task_review_requested",cause="by_design"': 2 },
      lines: [],
    });
  });

  it('RUN-DEDUP-4 the recovery of a task that nothing started has none on purpose', async () => {
    const office = await anOffice(reveille());
    const taskId = await newTask(office, { kind: 'office', assigneeAgentProfileId: pick(office.agents) });
    const [run] = await runsAbout(office, taskId);
    await claimAndFail(office, run?.id ?? '');
    await office.user.patch(`/v1/tasks/${taskId}`, { state: 'TODO' });
    reveille().clock.advance(2 * 60_000);
    expect(await reported(() => reveille().get(Sweeps).sweep())).toEqual({
      moves: { 'reason="task_assigned",cause="by_design"': 1 },
      lines: [],
    });
    expect((await runsAbout(office, taskId)).map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      run?.idempotencyKey,
      null,
    ]);
  });

  async function claimAndFail({ worker }: Office, runId: string): Promise<void> {
    const { body } = await worker.post<{ claims: { claimToken: string }[] }>('/v1/runs/claim', {
      workerId: 'w',
    });
    const { claimToken } = pick(body.claims);
    await spendRetries(reveille(), runId);
    const failed = await worker.post(`/v1/runs/${runId}/fail`, { claimToken, error: 'it fails' });
    expect(failed.body).toMatchObject({ status: 'failed' });
  }

  it.each([{}, { stepTransitionId: 0 }, { stepTransitionId: '' }])(
    'RUN-DEDUP-4 a workflow that does not know its transition (%j) is counted, and logged with a word of detail',
    async (transition) => {
      const office = await anOffice(reveille());
      const taskId = await taskIn(office, 'TODO');
      const start = () => office.user.post(`/v1/tasks/${taskId}/auto-start`, { stepId: 's', ...transition });
      const unresolved = {
        moves: { 'reason="task_assigned",cause="unresolved"': 1 },
        lines: [
          {
            level: 'log',
            context: 'Admission',
            text: expect.any(String) as string,
            fields: { reason: 'task_assigned', cause: 'unresolved', detail: 'zero_step_transition' },
          },
        ],
      };
      expect(await reported(start)).toEqual(unresolved);
      reveille().clock.advance(COALESCING_WINDOW_MS);
      expect(await reported(start)).toEqual(unresolved);
      const runs = await runsAbout(office, taskId);
      expect(runs.map(({ idempotencyKey }) => idempotencyKey)).toEqual([null, null]);
    },
  );

  it('RUN-DEDUP-4 wakes that have one are neither counted nor logged', async () => {
    const office = await anOffice(reveille());
    const taskId = await taskIn(office, 'COMPLETED');
    const reopening = { state: 'TODO', comment: { body: 'Not yet.' } };
    for (const work of [
      () => assign(office.user, office.taskId, pick(office.agents)),
      () => comment(office.user, office.taskId, { mentions: office.agents }),
      () => newTask(office, { kind: 'office', assigneeAgentProfileId: pick(office.agents) }),
      () => office.user.post(`/v1/tasks/${taskId}/auto-start`, { stepId: 's', stepTransitionId: 7 }),
      () => patch(office.user, taskId, reopening),
    ])
      expect(await reported(work)).toEqual({ moves: {}, lines: [] });
  });

  it('RUN-DEDUP-4 a key that is merely left out moves nothing: nobody guesses why', async () => {
    const office = await anOffice(reveille());
    const wake = { agentProfileId: pick(office.agents), reason: 'task_unblocked', payload: {} };
    const answers: number[] = [];
    const work = async () => answers.push((await office.user.post('/v1/wakes', wake)).status);
    expect(await reported(work)).toEqual({ moves: {}, lines: [] });
    expect(answers).toEqual([201]);
  });

  it('RUN-DEDUP-4 a change that fails has owed nothing: neither is counted', async () => {
    const office = await anOffice(reveille());
    const taskId = await taskIn(office, 'BLOCKED');
    const unblock = () => office.user.patch(`/v1/tasks/${taskId}`, { state: 'TODO' });
    const { moves } = await reported(() => whileFailing(reveille(), /^INSERT INTO "wake_notes"/, unblock));
    expect(moves).toEqual({});
    expect((await reported(unblock)).moves).toEqual({ 'reason="task_unblocked",cause="by_design"': 1 });
  });
});
