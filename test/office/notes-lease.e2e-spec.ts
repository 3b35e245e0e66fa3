import { LEASE_MS } from '../../src/office/reactivity/note-book.js';
import { NoteSweep } from '../../src/office/reactivity/note-sweep.js';
import { NotesRepository } from '../../src/office/reactivity/notes.repository.js';
import { Reactivity } from '../../src/office/reactivity/reactivity.service.js';
import { afterAllHaveLooked, meetingAt } from '../support/contention.js';
import { onEachDatabase } from '../support/databases.js';
import { DRIVING, whileFailing } from '../support/failing-statement.js';
import { OfficeScene } from '../support/office-scene.js';
import { postgresUrl } from '../support/outsider.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { type Statement, statementsOf } from '../support/statements.js';

const LEASING = /^UPDATE "wake_notes" SET .* AND "due_at" = /;

onEachDatabase('a wake whose driver has died', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** An office in which `act` has committed, and whoever was to decide its wake was cut off before. */
  const abandoned = async (act: (scene: OfficeScene) => Promise<unknown>) => {
    const scene = await OfficeScene.open(reveille());
    RecordingLogger.of(reveille());
    await whileFailing(reveille(), DRIVING, () => act(scene));
    return scene;
  };
  const assigned = () => abandoned((scene) => scene.assign(scene.agent()));

  /** The runs that an office has, with the notes and the decisions that show whether more was asked for. */
  const outcomeOf = async (scene: OfficeScene) => ({
    runs: (await scene.runs()).map(({ coalescedCount }) => coalescedCount),
    notes: await scene.notes(),
    decisions: (await scene.decisions()).filter(({ error }) => error === null),
  });
  const DECIDED_ONCE = { runs: [1], notes: [], decisions: [] };

  it('is not taken up before its lease of 30 seconds has ended, and once then', async () => {
    expect(LEASE_MS).toBe(30_000);
    const scene = await assigned();
    const notes = await scene.notes();
    expect(notes).toMatchObject([{ dueAt: reveille().clock.now() + LEASE_MS }]);
    await scene.sweep(LEASE_MS - 1);
    expect(await scene.runs()).toEqual([]);
    expect(await scene.notes()).toEqual(notes);
    await scene.sweep(1);
    await scene.sweep(LEASE_MS);
    expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
    expect(await scene.runs()).toMatchObject([{ agentProfileId: scene.agent() }]);
  });

  it.each([
    [
      'the creation of a task',
      (scene: OfficeScene) => scene.create({ assigneeAgentProfileId: scene.agent() }),
    ],
    [
      'a comment',
      (scene: OfficeScene) => scene.change({ comment: { body: 'Look', mentions: [scene.agent()] } }),
    ],
  ])('after %s, is taken up when its lease has ended', async (_what, act) => {
    const scene = await abandoned(act);
    await scene.sweep(LEASE_MS - 1);
    expect(await scene.runs()).toEqual([]);
    await scene.sweep(1);
    expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
  });

  it('is leased anew by the sweep, which may die as well', async () => {
    const scene = await assigned();
    // The lease itself passes; what comes after it does not.
    await whileFailing(reveille(), /^(DELETE FROM "wake_notes"|INSERT INTO "decisions")/, () =>
      whileFailing(reveille(), /^UPDATE "wake_notes" SET "due_at" = \S+ WHERE "id" = \S+$/, () =>
        scene.sweep(LEASE_MS),
      ),
    );
    expect(await scene.notes()).toMatchObject([{ dueAt: reveille().clock.now() + LEASE_MS }]);
    await scene.sweep(LEASE_MS - 1);
    expect(await scene.runs()).toEqual([]);
    await scene.sweep(1);
    expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
  });

  it('is not decided a second time when its driver was only slow', async () => {
    const scene = await assigned();
    const notes = await scene.notes();
    await scene.sweep(LEASE_MS);
    const runs = await scene.runs();
    expect(await reveille().get(Reactivity).carryOut(notes)).toMatchObject([
      { outcome: 'none', runId: null, error: null },
    ]);
    expect(await scene.runs()).toEqual(runs);
    expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
  });

  const leases = (sent: readonly Statement[]) => sent.filter(({ sql }) => LEASING.test(sql));
  const strokes = (sent: readonly Statement[]) =>
    sent.filter(({ sql }) => sql.startsWith('DELETE FROM "wake_notes"'));

  if (database === 'sqlite') {
    it('is decided by one of two sweeps that have both found it', async () => {
      const scene = await assigned();
      reveille().clock.advance(LEASE_MS);
      const sweep = () => reveille().get(NoteSweep).sweep();
      const looks = jest.spyOn(reveille().get(NotesRepository), 'due');
      const sent = await statementsOf(reveille(), () =>
        afterAllHaveLooked(reveille(), looks, [sweep, sweep]),
      );
      expect(leases(sent)).toHaveLength(2);
      expect(strokes(sent)).toHaveLength(1);
      expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
    });
    return;
  }

  const other = useReveille(() => {
    const { clock } = reveille();
    return TestReveille.start('postgres', { databaseUrl: postgresUrl(reveille()), clock });
  });

  it('is decided by one of two servers that have both found it', async () => {
    const scene = await assigned();
    reveille().clock.advance(LEASE_MS);
    const servers = [reveille(), other()];
    const sweepBoth = () => Promise.all(servers.map((server) => server.get(NoteSweep).sweep()));
    const sent: Statement[] = [];
    const onOther = async () => {
      sent.push(...(await statementsOf(other(), sweepBoth)));
    };
    await meetingAt(servers, [LEASING, 2], async () => {
      sent.push(...(await statementsOf(reveille(), onOther)));
    });
    expect(leases(sent)).toHaveLength(2);
    expect(strokes(sent)).toHaveLength(1);
    expect(await outcomeOf(scene)).toEqual(DECIDED_ONCE);
  });
});
