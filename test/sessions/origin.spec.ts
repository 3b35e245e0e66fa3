import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { watchCreates } from '../support/session-seams.js';

const MARK = { origin: 'task_initial' };

onEachDatabase('the mark of a task’s first session', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());
  afterEach(() => jest.restoreAllMocks());

  const marks = async (office: Conversation) => {
    const all = (await office.rows()).map((row) => JSON.parse(String(row['metadata'])) as object);
    return all.filter((metadata) => 'origin' in metadata);
  };

  it('AC-OFFICE-SESSION-IDENTITY-001.1 is borne by one of eight agents’ sessions made at once', async () => {
    const office = await open();
    await Promise.all(
      Array.from({ length: 8 }, (_, agent) => office.create({ agentProfileId: `agent-${agent}` })),
    );
    expect(await office.rows()).toHaveLength(8);
    expect(await marks(office)).toEqual([MARK]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.3 is borne by one of many launched and ensured at once, and by none that comes later', async () => {
    const office = await open();
    const first = await Promise.all([
      ...Array.from({ length: 4 }, () => office.launch()),
      office.launch({ agentProfileId: null }),
      office.ensure({ agentProfileId: 'another' }),
    ]);
    expect(first).toHaveLength(6);
    expect(await marks(office)).toEqual([MARK]);
    const replaced = await office.service.replace(pick(first as { id: string }[]).id);
    expect(replaced.metadata).toEqual({});
    expect(await marks(office)).toEqual([MARK]);
  });

  it('is not given anew when the task’s first session is over', async () => {
    const office = await open();
    const first = await office.create();
    expect(first.metadata).toEqual(MARK);
    await office.service.setState(first.id, 'COMPLETED');
    expect((await office.create()).metadata).toEqual({});
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.6 is not given by an attempt that is refused', async () => {
    const office = await open();
    await office.write({ state: 'RUNNING', metadata: { note: 'from older data' } });
    const wanted = Object.freeze({ ...office.pair, executionProfileId: 'profile', executorId: null });
    await expect(office.create(wanted)).rejects.toThrow(OfficeSessionRaceConflict);
    expect(await marks(office)).toEqual([]);
    expect(Object.keys(wanted)).toEqual(['taskId', 'agentProfileId', 'executionProfileId', 'executorId']);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.6 is given by the attempt after one that was undone, which leaves neither row nor mark behind', async () => {
    const office = await open();
    await expect(whileFailing(reveille(), /^INSERT INTO "events"/, () => office.create())).rejects.toThrow();
    expect(await office.rows()).toEqual([]);
    expect((await office.create()).metadata).toEqual(MARK);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.6 is not carried from a refused attempt to the next, which makes its row anew', async () => {
    const office = await open();
    const before = (attempt: number) => (attempt === 1 ? office.launch() : undefined);
    const after = async (attempt: number) => {
      if (attempt === 1) await office.service.retire(office.pair);
      reveille().clock.advance(60_000);
    };
    watchCreates(reveille(), { before, after });
    const { session, created } = await office.ensure();
    expect(created).toBe(true);
    expect(session.metadata).toEqual({});
    expect(session.startedAt).toBe(reveille().clock.now() - 60_000);
    expect(await marks(office)).toEqual([MARK]);
  });
});
