import { AgentsService } from '../../src/agents/agents.service.js';
import { EventLog } from '../../src/events/event-log.js';
import { RunEndings } from '../../src/runs/run-endings.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { onEachDatabase } from '../support/databases.js';
import { movedBy, samplesOf } from '../support/metrics.js';
import { asOutsider } from '../support/outsider.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace } from '../support/wakes.js';

const QUEUED = 'office_runs_oldest_queued_seconds';
const DUE = 'office_runs_oldest_due_seconds';
const NOTES = 'office_notes_oldest_seconds';
const LAG = 'office_events_lag_seconds';
const LOST = 'office_leases_lost_total';

const SECOND_MS = 1000;
const SOMEBODY = { kind: 'user', id: 'somebody' };

onEachDatabase('what there is to alert on', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const now = () => reveille().clock.now();
  const pass = (seconds: number) => {
    reveille().clock.advance(seconds * SECOND_MS);
  };
  const gauge = async (name: string) => (await samplesOf(reveille(), name)).get('');
  const sql = (statement: string, parameters: readonly unknown[] = []) =>
    asOutsider(reveille(), (outsider) => outsider.query(statement, parameters));
  const wake = async (place: Workplace, agentProfileId: string) =>
    (await place.queued({ agentProfileId, reason: 'hello', payload: '{}' })).id;

  afterEach(async () => {
    for (const table of ['runs', 'wake_notes']) await sql(`DELETE FROM ${table}`);
  });

  it('AC-OFFICE-WORKER-010.4 stands at 0 before anything has happened', async () => {
    for (const name of [QUEUED, DUE, NOTES, LAG]) expect(await gauge(name)).toBe(0);
    expect(await samplesOf(reveille(), LOST)).toEqual(
      new Map([
        ['outcome="queued"', 0],
        ['outcome="failed"', 0],
      ]),
    );
  });

  describe('the wait of the run that is due longest', () => {
    it('AC-OFFICE-WORKER-010.4 goes on while nobody claims it, its agent being at work on another or not', async () => {
      const place = await Workplace.open(reveille());
      const agent = await place.agent();
      await wake(place, agent);
      pass(20);
      await wake(place, agent);
      expect(await gauge(DUE)).toBe(20);
      pass(0.5);
      await claim(agent);
      expect(await gauge(DUE)).toBe(0.5);
    });

    it('AC-OFFICE-WORKER-010.4 begins when the retry is due, and is not that of a run whose retry is not', async () => {
      const place = await Workplace.open(reveille());
      const agent = await place.agent();
      const run = await wake(place, agent);
      await place.alter(run, { scheduled_retry_at: now() + 60 * SECOND_MS });
      pass(59);
      expect([await gauge(QUEUED), await gauge(DUE)]).toEqual([59, 0]);
      pass(11);
      expect([await gauge(QUEUED), await gauge(DUE)]).toEqual([70, 10]);
    });

    it('AC-OFFICE-WORKER-010.4 is that of the next one behind a head that waits for its retry', async () => {
      const place = await Workplace.open(reveille());
      const agent = await place.agent();
      await place.alter(await wake(place, agent), { scheduled_retry_at: now() + 600 * SECOND_MS });
      pass(30);
      await wake(place, agent);
      pass(5);
      expect([await gauge(QUEUED), await gauge(DUE)]).toEqual([35, 5]);
    });

    it('AC-OFFICE-WORKER-010.4 leaves out what a pause or the agent’s own status holds back', async () => {
      const [paused, running] = [await Workplace.open(reveille()), await Workplace.open(reveille())];
      const [stopped, idle] = [await running.agent(), await running.agent()];
      await wake(paused, await paused.agent());
      await wake(running, stopped);
      pass(100);
      await wake(running, idle);
      pass(1);
      expect(await gauge(DUE)).toBe(101);
      await reveille().get(WorkspacesService).pause(paused.workspaceId, 'a reason', SOMEBODY);
      expect(await gauge(DUE)).toBe(101);
      await reveille().get(AgentsService).update(stopped, { status: 'stopped' });
      expect([await gauge(QUEUED), await gauge(DUE)]).toEqual([101, 1]);
    });
  });

  it('AC-OFFICE-WORKER-010.4 counts a lost lease by what became of the run, and none that only ended a cancelled run’s hold', async () => {
    const place = await Workplace.open(reveille());
    const agent = await place.agent();
    const lose = async (limit: number, isCancelled = false) => {
      const run = await wake(place, agent);
      await claim(agent);
      if (isCancelled) await reveille().get(RunsService).cancel(run, 'no longer');
      const moved = await movedBy(reveille(), LOST, async () => {
        // Twice: the second finds it taken back.
        for (let time = 0; time < 2; time++)
          await reveille().get(RunEndings).takeBack(run, Number.MAX_SAFE_INTEGER, limit);
      });
      await place.delete(run);
      return moved;
    };
    expect(await lose(5)).toEqual({ 'outcome="queued"': 1 });
    expect(await lose(1)).toEqual({ 'outcome="failed"': 1 });
    expect(await lose(5, true)).toEqual({});
  });

  it('AC-OFFICE-WORKER-010.4 tells the age of the oldest wake that is owed, and of none that a pause parks', async () => {
    const [paused, running] = [await Workplace.open(reveille()), await Workplace.open(reveille())];
    const owe = async (place: Workplace) =>
      sql(
        `INSERT INTO wake_notes (id, workspace_id, task_id, assignment_generation, agent_profile_id, reason, payload, due_at, created_at)
         VALUES ($1, $2, $3, 1, $4, 'task_assigned', '{}', $5, $6)`,
        [`n-${place.taskId}`, place.workspaceId, place.taskId, await place.agent(), now() + 30_000, now()],
      );
    await owe(paused);
    pass(7);
    await owe(running);
    pass(2);
    expect(await gauge(NOTES)).toBe(9);
    await reveille().get(WorkspacesService).pause(paused.workspaceId, 'a reason', SOMEBODY);
    expect(await gauge(NOTES)).toBe(2);
  });

  it('AC-OFFICE-WORKER-010.4 tells how far the numbering of events lies behind', async () => {
    await sql(
      `INSERT INTO events (id, number, workspace_id, type, at, subject, data)
       VALUES ('behind', NULL, 'w', 'task.created', $1, '{}', '{}')`,
      [now()],
    );
    pass(3);
    expect(await gauge(LAG)).toBe(3);
    await reveille().get(EventLog).latest();
    expect(await gauge(LAG)).toBe(0);
  });

  async function claim(agentProfileId: string): Promise<void> {
    const scope = { workspaceId: null, agentProfileIds: [agentProfileId] };
    pick(
      await reveille()
        .get(RunsService)
        .claim({ workerId: 'w', bearerTokenId: 'b', ...scope }),
    );
  }
});
