import { SessionRecords } from '../../src/sessions/session-records.js';
import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { afterLookUps, storeOf, watchCreates } from '../support/session-seams.js';

const CODEX = { executionProfileId: 'codex', metadata: { acp_session_id: 'of-codex', note: 'kept' } };

onEachDatabase('a session that is bound to another profile', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());
  const claude = { executionProfileId: 'claude' };
  afterEach(() => jest.restoreAllMocks());

  /** The profiles in the order in which they were stored. */
  const watchBindings = () => {
    const store = storeOf(reveille());
    const update = store.update.bind(store);
    const bound: string[] = [];
    let writes = 0;
    jest.spyOn(store, 'update').mockImplementation(async (id, expected, changes) => {
      const isWritten = await update(id, expected, changes);
      writes += 1;
      if (isWritten && changes.executionProfileId !== undefined) bound.push(changes.executionProfileId);
      return isWritten;
    });
    return { bound, writes: () => writes };
  };

  it('AC-OFFICE-SESSION-IDENTITY-001.9 AC-OFFICE-SESSION-IDENTITY-003.2 is the winner’s, after a lost race as before one', async () => {
    const office = await open();
    const creates = watchCreates(reveille(), {
      before: (attempt) => (attempt === 1 ? office.write({ ...CODEX, state: 'IDLE' }) : undefined),
    });
    expect(await office.ensure(claude)).toMatchObject({
      created: false,
      session: { id: office.idOf(), agentProfileId: 'agent', state: 'RUNNING', ...claude },
    });
    expect(await creates.refused()).toBe(1);
    expect(await office.row()).toMatchObject({ execution_profile_id: 'claude', state: 'RUNNING' });
  });

  it.each(['IDLE', 'RUNNING'])(
    'AC-OFFICE-SESSION-IDENTITY-001.9 does not come back when it was %s and is cancelled in the same moment',
    async (state) => {
      const office = await open();
      await office.write({ ...CODEX, state });
      const cancelled = { state: 'CANCELLED', metadata: '{"message":"no longer wanted"}', completed_at: 5 };
      afterLookUps(reveille(), (time) => (time === 1 ? office.alter('row', cancelled) : undefined));
      const { session, created } = await office.ensure(claude);
      expect(created).toBe(true);
      expect(session).toMatchObject({ state: 'CREATED', metadata: {}, ...claude });
      const row = await office.row('row');
      expect({ ...row, completed_at: Number(row['completed_at']) }).toMatchObject({
        ...cancelled,
        execution_profile_id: 'codex',
      });
      expect(Number(row['updated_at'])).toBe(0);
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-001.9 is bound all the same when only its turn begins in the same moment', async () => {
    const office = await open();
    await office.write({ ...CODEX, state: 'IDLE' });
    afterLookUps(reveille(), () => office.alter('row', { state: 'RUNNING' }));
    const { bound, writes } = watchBindings();
    expect(await office.ensure(claude)).toMatchObject({ created: false, session: { state: 'RUNNING' } });
    expect({ bound, writes: writes() }).toEqual({ bound: ['claude'], writes: 2 });
    expect(await office.row()).toMatchObject({ state: 'RUNNING', metadata: '{"note":"kept"}' });
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 settles on one state for callers with the same profile', async () => {
    const office = await open();
    await office.write({ ...CODEX, state: 'IDLE' });
    const ensured = await Promise.all(Array.from({ length: 8 }, () => office.ensure(claude)));
    for (const { session, created } of ensured) {
      expect(created).toBe(false);
      expect(session).toMatchObject({
        id: office.idOf(),
        state: 'RUNNING',
        metadata: { note: 'kept' },
        ...claude,
      });
    }
    const metadata = '{"note":"kept"}';
    expect(await office.row()).toMatchObject({ state: 'RUNNING', execution_profile_id: 'claude', metadata });
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 has the last writer’s profile when two callers want different ones, of whom each gets its own', async () => {
    const office = await open();
    await office.write({ ...CODEX, state: 'IDLE' });
    const bothHaveRead = new Gate();
    afterLookUps(reveille(), (time) => {
      if (time === 2) bothHaveRead.open();
      return bothHaveRead.passed;
    });
    const { bound } = watchBindings();
    const creates = watchCreates(reveille());
    const profiles = ['claude', 'gemini'];
    const ensured = await Promise.all(
      profiles.map((executionProfileId) => office.ensure({ executionProfileId })),
    );
    expect(ensured.map(({ session }) => session.executionProfileId)).toEqual(profiles);
    expect(ensured.every(({ session }) => session.state === 'RUNNING')).toBe(true);
    expect([...bound].sort()).toEqual(profiles);
    expect(await office.row()).toMatchObject({ execution_profile_id: bound[1], state: 'RUNNING' });
    expect(creates.begun()).toBe(0);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 is shown to a caller as it wrote it, though another has bound and woken it since', async () => {
    const office = await open();
    await office.write({ ...CODEX, state: 'IDLE' });
    const records = reveille().get(SessionRecords);
    const move = records.move.bind(records);
    // The first caller has bound it, and is about to wake it.
    jest.spyOn(records, 'move').mockImplementationOnce(async (...change) => {
      await office.ensure({ executionProfileId: 'gemini' });
      return move(...change);
    });
    const { bound } = watchBindings();
    const { session, created } = await office.ensure(claude);
    expect(created).toBe(false);
    expect(session).toMatchObject({ id: office.idOf(), state: 'RUNNING', ...claude });
    expect(bound).toEqual(['claude', 'gemini']);
    expect(await office.row()).toMatchObject({ execution_profile_id: 'gemini', state: 'RUNNING' });
  });
});
