import { NotFoundError } from '../../src/errors/reveille-error.js';
import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import { SESSION_STATES, TERMINAL_STATES, isTerminal } from '../../src/sessions/session-state.js';
import { SessionsRepository } from '../../src/sessions/sessions.repository.js';
import { TransactionalSessionCreator } from '../../src/sessions/transactional-session.creator.js';
import { AGENT, Conversation } from '../support/conversation.js';
import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { type SentStatement, wireOf } from '../support/wire.js';

const TERMINAL = ['COMPLETED', 'FAILED', 'CANCELLED'];
const LIVE = ['CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'A_STATE_OF_TOMORROW'];

const LIVE_CHECK = /^SELECT .*FROM "task_sessions".*NOT IN/s;
const INSERT = /^INSERT INTO "task_sessions"/;

/** What the transaction of a creation consists of, in order, by what each statement is for. */
const STEPS = [
  ['begin', /^(BEGIN IMMEDIATE|START TRANSACTION)$/],
  ['keep the agent', /^SELECT .*FROM "agents"/s],
  ['lock the task', /^SELECT .*FROM "tasks".* FOR UPDATE$/s],
  ['read the task', /^SELECT .*FROM "tasks"/s],
  ['look for a live session', LIVE_CHECK],
  ['look for a first session', /^SELECT .*FROM "task_sessions"/s],
  ['insert', INSERT],
  ['tell of it', /^INSERT INTO "events"/],
  ['commit', /^COMMIT$/],
  ['roll back', /^ROLLBACK$/],
] as const;

const TASK_STEP: Record<DatabaseName, string> = { sqlite: 'read the task', postgres: 'lock the task' };

onEachDatabase('the guard of office sessions', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());

  it('is the transactional one where sessions are in our own table', () => {
    expect(reveille().get(OfficeSessionCreator)).toBeInstanceOf(TransactionalSessionCreator);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.1 looks and inserts on one connection between one BEGIN and its COMMIT, on PostgreSQL behind the lock of the task', async () => {
    const office = await open();
    const sent = await wireOf(() => office.create());
    expect(stepsAround(LIVE_CHECK, sent)).toEqual([
      'begin',
      'keep the agent',
      TASK_STEP[database],
      'look for a live session',
      'look for a first session',
      'tell of it',
      'insert',
      'commit',
    ]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.1 AC-OFFICE-SESSION-IDENTITY-001.6 sends nothing that writes in the transaction that it refuses, and rolls it back', async () => {
    const office = await open();
    await office.write({ state: 'RUNNING' });
    const sent = await wireOf(() => expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict));
    expect(stepsAround(LIVE_CHECK, sent)).toEqual([
      'begin',
      'keep the agent',
      TASK_STEP[database],
      'look for a live session',
      'roll back',
    ]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.2 AC-OFFICE-SESSION-IDENTITY-001.6 refuses a second live session as a conflict, and leaves every row as it was to the last byte', async () => {
    const office = await open();
    const metadata = { origin: 'task_initial', acp_session_id: 'kept', note: 'kept' };
    await office.write(
      { id: 'over', state: 'COMPLETED', startedAt: 9, completedAt: 12, metadata },
      { id: 'live', state: 'RUNNING', startedAt: 5, metadata },
      { id: 'other', state: 'IDLE', agentProfileId: 'another' },
    );
    const before = await office.rows();
    reveille().clock.advance(1000);
    await expect(office.create()).rejects.toMatchObject({
      code: 'session_conflict',
      pair: office.pair,
    });
    expect(await office.rows()).toEqual(before);
    expect(await office.events()).toEqual([]);
  });

  it.each(TERMINAL)(
    'AC-OFFICE-SESSION-IDENTITY-001.3 is not in the way of a pair whose history is %s',
    async (state) => {
      const office = await open();
      await office.write({ id: 'one', state }, { id: 'two', state });
      const before = await office.rows();
      const session = await office.create();
      expect(session).toMatchObject({ state: 'CREATED', agentProfileId: AGENT });
      const after = await office.rows();
      expect(after).toHaveLength(3);
      expect(after.filter(({ id }) => id !== session.id)).toEqual(before);
    },
  );

  describe.each(LIVE)('before a session that is %s', (state) => {
    it('AC-OFFICE-SESSION-IDENTITY-001.4 AC-OFFICE-SESSION-IDENTITY-001.10 refuses, as look-up and predicate take it for live', async () => {
      const office = await open();
      await office.write({ id: 'over', state: 'FAILED', startedAt: 9 }, { id: 'live', state, startedAt: 1 });
      const before = await office.rows();
      await expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict);
      expect(await office.rows()).toEqual(before);
      expect((await office.find())?.id).toBe(office.idOf('live'));
      expect(await reveille().get(SessionsRepository).hasLive(office.pair)).toBe(true);
      expect(isTerminal(state)).toBe(false);
    });
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.10 has its terminal states in SQL from the one list that the code has', async () => {
    const office = await open();
    for (const state of [...SESSION_STATES, 'A_STATE_OF_TOMORROW']) {
      await office.write({ id: state, state, agentProfileId: state });
      const pair = { ...office.pair, agentProfileId: state };
      const isLive = await reveille().get(SessionsRepository).hasLive(pair);
      expect({ state, isLive }).toEqual({ state, isLive: !isTerminal(state) });
    }
    expect([...TERMINAL_STATES].sort()).toEqual([...TERMINAL].sort());
    expect(SESSION_STATES.filter(isTerminal)).toEqual(TERMINAL);
  });

  it.each(['', null])(
    'AC-OFFICE-SESSION-IDENTITY-001.5 lets pass whoever is without an agent (%p), asks nothing about them, and stores NULL',
    async (agentProfileId) => {
      const office = await open();
      await office.create({ agentProfileId });
      const sent = await wireOf(() => office.create({ agentProfileId }));
      expect(sent.filter(({ sql }) => LIVE_CHECK.test(sql))).toEqual([]);
      expect((await office.rows()).map((row) => row['agent_profile_id'])).toEqual([null, null]);
      // Nor are they in the way of anybody who has a name.
      await office.create();
      await expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict);
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-001.8 counts a live session whoever made it, and find-or-create takes it over', async () => {
    const office = await open();
    const launched = await office.launch();
    await expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict);
    expect(await office.ensure()).toMatchObject({ session: { id: launched.id }, created: false });
    expect(await office.rows()).toHaveLength(1);
    await office.service.setState(launched.id, 'FAILED');
    expect(await office.ensure()).toMatchObject({ created: true });
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.2 takes neither other agents on the task nor the agent’s other tasks for the pair', async () => {
    const [office, elsewhere] = [await open(), await open()];
    const made = await Promise.all([
      office.create(),
      office.create({ agentProfileId: 'another' }),
      elsewhere.create(),
    ]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(3);
    await expect(office.create({ agentProfileId: 'another' })).rejects.toThrow(OfficeSessionRaceConflict);
  });

  it.each([2, 8])(
    'AC-OFFICE-SESSION-IDENTITY-001.1 AC-OFFICE-SESSION-IDENTITY-001.2 lets one of %d at the same time pass and refuses the others',
    async (callers) => {
      const office = await open();
      const attempts = await Promise.allSettled(Array.from({ length: callers }, () => office.create()));
      const refused = attempts.filter(({ status }) => status === 'rejected');
      expect(refused).toHaveLength(callers - 1);
      for (const { reason } of refused as PromiseRejectedResult[])
        expect(reason).toBeInstanceOf(OfficeSessionRaceConflict);
      expect((await office.row())['state']).toBe('CREATED');
    },
  );

  it.each([
    ['the look for a live session', LIVE_CHECK],
    ['the insert', INSERT],
    ['the event that tells of it', /^INSERT INTO "events"/],
  ])(
    'AC-OFFICE-SESSION-IDENTITY-003.7 gives the caller the driver’s own error when %s fails',
    async (_, shape) => {
      const office = await open();
      const failing = () => whileFailing(reveille(), shape, () => office.create());
      await expect(failing()).rejects.toMatchObject({ name: 'QueryFailedError' });
      await expect(failing()).rejects.not.toThrow(OfficeSessionRaceConflict);
      expect(await office.rows()).toEqual([]);
      expect(await office.events()).toEqual([]);
      expect(await office.create()).toMatchObject({ metadata: { origin: 'task_initial' } });
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-003.7 says of a task that is not there that it is not there', async () => {
    const office = await open();
    const elsewhere = { taskId: 'nowhere' };
    await expect(office.create(elsewhere)).rejects.toThrow(NotFoundError);
    await expect(office.ensure(elsewhere)).rejects.toThrow(NotFoundError);
    await expect(office.launch(elsewhere)).rejects.toThrow(NotFoundError);
  });
});

/** The steps of the one transaction that a statement of the shape belongs to. */
function stepsAround(shape: RegExp, sent: readonly SentStatement[]): readonly string[] {
  const found = pick(sent.filter(({ sql }) => shape.test(sql)));
  const onIt = sent.filter(({ connection }) => connection === found.connection);
  const start = onIt.slice(0, onIt.indexOf(found)).findLastIndex(isOf('begin'));
  const end = onIt.findIndex((statement, index) => index > start && isOf('commit', 'roll back')(statement));
  return onIt.slice(start, end + 1).map(({ sql }) => STEPS.find(([, step]) => step.test(sql))?.[0] ?? sql);
}

function isOf(...names: readonly string[]): (statement: SentStatement) => boolean {
  return ({ sql }) => STEPS.some(([name, step]) => names.includes(name) && step.test(sql));
}
