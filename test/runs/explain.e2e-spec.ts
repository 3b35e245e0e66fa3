import { MetricsService } from '../../src/metrics/metrics.service.js';
import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { OfficeScene } from '../support/office-scene.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { keptBy } from '../support/tasks.js';

const HOUR_MS = 60 * 60_000;

interface Blocker {
  readonly code: string;
  readonly detail: string;
  readonly until: string | null;
}

interface Explanation {
  readonly claimable: boolean;
  readonly blockers: readonly Blocker[];
}

onEachDatabase('what keeps a run from being claimed', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  const open = () => OfficeScene.open(reveille());

  async function explain(
    { office }: OfficeScene,
    runId: string,
    by: Api = office.user,
  ): Promise<Explanation> {
    const { status, body } = await by.get<Explanation>(`/v1/runs/${runId}/explain`);
    expect(status).toBe(200);
    return body;
  }

  const codes = async (scene: OfficeScene, runId: string) =>
    (await explain(scene, runId)).blockers.map(({ code }) => code);

  /** Wakes the first agent, about nothing, a second later than before. */
  async function wake(scene: OfficeScene, index = 0): Promise<string> {
    reveille().clock.advance(10_000);
    const wake = { agentProfileId: scene.agent(index), reason: 'hello', payload: {} };
    const { body } = await scene.office.user.post<{ runId: string }>('/v1/wakes', wake);
    return body.runId;
  }

  /** The run of the office's task, which is the first agent's. */
  async function assigned(scene: OfficeScene): Promise<string> {
    const { reactions } = await scene.assign(scene.agent());
    return pick(reactions).runId ?? '';
  }

  const alter = (scene: OfficeScene, runId: string, column: string, value: number | string | null) =>
    scene.sql(`UPDATE runs SET ${column} = $1 WHERE id = $2`, [value, runId]);

  it('AC-OFFICE-WORKER-010.1 is nothing when the next claim takes it', async () => {
    const scene = await open();
    const run = await assigned(scene);
    expect(await explain(scene, run)).toEqual({ claimable: true, blockers: [] });
    expect((await scene.claim()).run.id).toBe(run);
  });

  describe('not_queued', () => {
    it('AC-OFFICE-WORKER-010.1 once it is claimed, and once it has ended', async () => {
      const scene = await open();
      const run = await wake(scene);
      const held = await scene.claim();
      expect(await explain(scene, run)).toEqual({
        claimable: false,
        blockers: [{ code: 'not_queued', detail: 'The run is claimed.', until: null }],
      });
      await scene.report(held, 'finish');
      expect((await explain(scene, run)).blockers).toEqual([
        { code: 'not_queued', detail: 'The run is finished.', until: null },
      ]);
    });

    it('AC-OFFICE-WORKER-010.1 and nothing else of an ended run, whatever its task or others have come to', async () => {
      const scene = await open();
      const run = await assigned(scene);
      await scene.report(await scene.claim(), 'finish');
      await scene.assign(null);
      await wake(scene);
      expect(await codes(scene, run)).toEqual(['not_queued']);
    });
  });

  it('AC-OFFICE-WORKER-010.1 retry_scheduled until the retry is due, to the millisecond', async () => {
    const scene = await open();
    const run = await wake(scene);
    const due = reveille().clock.now() + HOUR_MS;
    await alter(scene, run, 'scheduled_retry_at', due);
    reveille().clock.set(due - 1);
    const { claimable, blockers } = await explain(scene, run);
    expect(claimable).toBe(false);
    expect(blockers).toMatchObject([{ code: 'retry_scheduled', until: new Date(due).toISOString() }]);
    reveille().clock.set(due);
    expect(await codes(scene, run)).toEqual([]);
  });

  describe('agent_busy', () => {
    it('AC-OFFICE-WORKER-010.1 while the agent is at work on another, until that lease ends', async () => {
      const scene = await open();
      const other = await wake(scene);
      await scene.claim();
      const run = await wake(scene);
      const until = (await scene.runs()).find(({ id }) => id === other)?.leaseExpiresAt ?? 0;
      const detail = `The agent is at work on run ${other}.`;
      expect((await explain(scene, run)).blockers).toEqual([
        { code: 'agent_busy', detail, until: new Date(until).toISOString() },
      ]);
    });

    it('AC-OFFICE-WORKER-010.1 until the worker of a cancelled one has let go', async () => {
      const scene = await open();
      const other = await wake(scene);
      const held = await scene.claim();
      await scene.office.user.post(`/v1/runs/${other}/cancel`, { reason: 'no longer' });
      const run = await wake(scene);
      const [busy] = (await explain(scene, run)).blockers;
      expect(busy).toMatchObject({ code: 'agent_busy', until: expect.any(String) as string });
      expect(busy?.detail).toContain(`run ${other}, which is cancelled, has not let go`);
      expect(await codes(scene, other)).toEqual(['not_queued']);
      await scene.report(held, 'release');
      expect(await codes(scene, run)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-010.1 while an older run goes first, which is named', async () => {
      const scene = await open();
      const older = await assigned(scene);
      const run = await wake(scene);
      expect((await explain(scene, run)).blockers).toEqual([
        { code: 'agent_busy', detail: `Run ${older} goes first.`, until: null },
      ]);
      expect(await codes(scene, older)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-010.1 not for older ones that wait for a retry, are stale, or another agent’s', async () => {
      const scene = await open();
      await wake(scene, 1);
      await assigned(scene);
      await alter(scene, await wake(scene), 'scheduled_retry_at', reveille().clock.now() + HOUR_MS);
      const run = await wake(scene);
      await scene.assign(null);
      expect(await explain(scene, run)).toEqual({ claimable: true, blockers: [] });
    });

    it('AC-OFFICE-WORKER-010.1 for the first that is not stale, behind more of those than one statement reads', async () => {
      const scene = await open();
      const stale = await assigned(scene);
      const first = await wake(scene);
      const run = await wake(scene);
      await scene.assign(null);
      await copies(scene, stale, 250);
      expect((await explain(scene, run)).blockers).toMatchObject([{ detail: `Run ${first} goes first.` }]);
      expect(await codes(scene, first)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-010.1 by the id where two were requested at one instant', async () => {
      const scene = await open();
      const [one, other] = [await wake(scene), await wake(scene)];
      await alter(scene, other, 'requested_at', (await scene.runs())[0]?.requestedAt ?? 0);
      const [first = '', second = ''] = [one, other].sort();
      expect(await codes(scene, first)).toEqual([]);
      expect((await explain(scene, second)).blockers).toMatchObject([{ detail: `Run ${first} goes first.` }]);
    });
  });

  describe('agent_not_runnable', () => {
    it.each(['paused', 'stopped', 'pending_approval'])(
      'AC-OFFICE-WORKER-010.1 while the agent is %s',
      async (status) => {
        const scene = await open();
        const run = await wake(scene);
        await scene.setStatus(scene.agent(), status);
        expect((await explain(scene, run)).blockers).toEqual([
          { code: 'agent_not_runnable', detail: `The agent is ${status}.`, until: null },
        ]);
        await scene.setStatus(scene.agent(), 'idle');
        expect(await codes(scene, run)).toEqual([]);
      },
    );

    it('AC-OFFICE-WORKER-010.1 for good once the agent is deleted', async () => {
      const scene = await open();
      const run = await wake(scene);
      await scene.removeAgent(scene.agent());
      await alter(scene, run, 'status', 'queued');
      expect((await explain(scene, run)).blockers).toMatchObject([{ detail: 'The agent is gone.' }]);
    });
  });

  describe('workspace_paused', () => {
    it('AC-OFFICE-WORKER-010.1 until the workspace goes on', async () => {
      const scene = await open();
      const run = await wake(scene);
      await scene.pause();
      expect((await explain(scene, run)).blockers).toEqual([
        { code: 'workspace_paused', detail: 'The workspace is paused.', until: null },
      ]);
      await scene.resume();
      expect(await codes(scene, run)).toEqual([]);
    });

    it('AC-OFFICE-WORKER-010.1 while nobody can read whether it is', async () => {
      const scene = await open();
      const run = await wake(scene);
      await scene.sql('ALTER TABLE workspace_pauses RENAME TO pauses_out_of_sight');
      try {
        const { claimable, blockers } = await explain(scene, run);
        expect(claimable).toBe(false);
        expect(blockers).toMatchObject([{ code: 'workspace_paused', until: null }]);
        expect(blockers[0]?.detail).toContain('cannot be told');
        const claimed = await scene.office.worker.post<{ claims?: unknown }>('/v1/runs/claim', {
          workerId: 'w',
        });
        expect(claimed.body.claims ?? []).toEqual([]);
      } finally {
        await scene.sql('ALTER TABLE pauses_out_of_sight RENAME TO workspace_pauses');
      }
      expect(await codes(scene, run)).toEqual([]);
    });
  });

  it('AC-OFFICE-WORKER-010.1 AC-OFFICE-WORKER-002.3 stale once its task is another’s, with the reason for which the claim cancels it', async () => {
    const scene = await open();
    const run = await assigned(scene);
    await scene.assign(scene.agent(1));
    const detail = 'The next claim cancels the run: task_assignee_changed.';
    expect((await explain(scene, run)).blockers).toEqual([{ code: 'stale', detail, until: null }]);
  });

  it('AC-OFFICE-WORKER-010.1 everything at once', async () => {
    const scene = await open();
    const held = await wake(scene);
    await scene.claim();
    const older = await wake(scene);
    const run = await assigned(scene);
    await scene.assign(null);
    await alter(scene, run, 'scheduled_retry_at', reveille().clock.now() + HOUR_MS);
    await scene.setStatus(scene.agent(), 'paused');
    await scene.pause();
    const { claimable, blockers } = await explain(scene, run);
    expect(claimable).toBe(false);
    expect(blockers.map(({ code }) => code).sort()).toEqual([
      'agent_busy',
      'agent_busy',
      'agent_not_runnable',
      'retry_scheduled',
      'stale',
      'workspace_paused',
    ]);
    const details = blockers.map(({ detail }) => detail).join(' ');
    expect(details).toContain(held);
    expect(details).toContain(older);
  });

  it('AC-OFFICE-WORKER-010.3 is told to whoever may read the run, and to nobody else', async () => {
    const scene = await open();
    const other = await open();
    const run = await wake(scene);
    const { admin, worker } = scene.office;
    for (const reader of [admin, worker, scene.asAgent()])
      expect(await explain(scene, run, reader)).toEqual({ claimable: true, blockers: [] });
    const path = `/v1/runs/${run}/explain`;
    expect((await scene.asAgent(1).get(path)).status).toBe(403);
    for (const stranger of [other.office.user, other.office.worker, other.asAgent()])
      expect((await stranger.get(path)).status).toBe(404);
    expect((await admin.get('/v1/runs/unknown/explain')).status).toBe(404);
  });

  it('AC-OFFICE-WORKER-010.3 changes nothing and counts nowhere', async () => {
    const scene = await open();
    const run = await assigned(scene);
    await scene.assign(scene.agent(1));
    const state = async () => [
      await keptBy(reveille(), scene.office),
      await reveille().get(MetricsService).text(),
    ];
    const before = await state();
    expect(await codes(scene, run)).toEqual(['stale']);
    expect(await state()).toEqual(before);
  });

  /** So many older copies of a queued run. */
  async function copies(scene: OfficeScene, runId: string, count: number): Promise<void> {
    const [row = {}] = await scene.sql<Record<string, unknown>>('SELECT * FROM runs WHERE id = $1', [runId]);
    const columns = Object.keys(row).filter((column) => column !== 'id' && column !== 'idempotency_key');
    await scene.sql(
      `WITH RECURSIVE places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < ${count})
       INSERT INTO runs (id, ${columns.join(', ')})
       SELECT id || '-' || place, ${columns.join(', ')} FROM runs, places WHERE id = $1`,
      [runId],
    );
  }
});
