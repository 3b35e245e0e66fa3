import type { Session } from '../../src/sessions/session.schema.js';
import { SessionsRepository } from '../../src/sessions/sessions.repository.js';
import { Conversation, PROFILE } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { afterLookUps, storeOf, watchCreates } from '../support/session-seams.js';
import { wireOf } from '../support/wire.js';

const WRITE = /^(INSERT INTO|UPDATE|DELETE FROM) "task_sessions"/;

/** Everything that belongs to the provider, and what only looks like it. */
const OF_THE_PROVIDER = {
  acp_session_id: 'conversation',
  session_mode: 'plan',
  runtime_config: { model: 'codex' },
  runtime_config_overrides: { effort: 'high' },
  acp_config_baseline: {},
  acp_model_state: 'warm',
  context_window: 200_000,
  last_agent_error: null,
};
const OF_THE_TASK = {
  origin: 'task_initial',
  pending_step_completion: true,
  acp_session_id_before: 'kept',
  note: { acp_session_id: 'kept' },
};

onEachDatabase('a session that is reused', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());
  afterEach(() => jest.restoreAllMocks());

  /** What was sent that writes to the sessions' table. */
  const writesOf = async (work: () => Promise<unknown>) =>
    (await wireOf(work)).map(({ sql }) => sql).filter((sql) => WRITE.test(sql));

  const metadataOf = (row: Readonly<Record<string, unknown>>) =>
    JSON.parse(String(row['metadata'])) as object;

  it.each(['CREATED', 'STARTING', 'RUNNING', 'WAITING_FOR_INPUT', 'A_STATE_OF_TOMORROW'])(
    'AC-OFFICE-SESSION-IDENTITY-001.4 AC-OFFICE-SESSION-IDENTITY-001.9 stays as it is, to the last byte, when it is %s',
    async (state) => {
      const office = await open();
      await office.write({ state, metadata: OF_THE_PROVIDER });
      const before = await office.rows();
      reveille().clock.advance(1000);
      const writes = await writesOf(async () => {
        expect(await office.ensure()).toMatchObject({
          session: { id: office.idOf(), state, metadata: OF_THE_PROVIDER },
          created: false,
        });
      });
      expect(writes).toEqual([]);
      expect(await office.rows()).toEqual(before);
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-001.9 is woken from IDLE by one comparing write of its state, which leaves all else', async () => {
    const office = await open();
    await office.write({ state: 'IDLE', metadata: { ...OF_THE_PROVIDER, ...OF_THE_TASK } });
    const before = await office.row();
    reveille().clock.advance(1000);
    const writes = await writesOf(async () => {
      expect(await office.ensure()).toMatchObject({ session: { state: 'RUNNING' }, created: false });
    });
    expect(writes).toEqual([
      expect.stringMatching(/SET "state" = \S+, "updated_at" = \S+ WHERE .*"id" = .* AND .*"state" = /),
    ]);
    const after = await office.row();
    expect(after).toEqual({ ...before, state: 'RUNNING', updated_at: after['updated_at'] });
    expect(Number(after['updated_at'])).toBe(reveille().clock.now());
  });

  it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
    'AC-OFFICE-SESSION-IDENTITY-001.3 is never one that is %s: a new one is made, and the old one kept as it was',
    async (state) => {
      const office = await open();
      await office.write({ state, executionProfileId: 'another', metadata: OF_THE_PROVIDER });
      const before = await office.row();
      const { session, created } = await office.ensure();
      expect(created).toBe(true);
      expect(session).toMatchObject({ state: 'CREATED', metadata: {} });
      expect(await office.row('row')).toEqual(before);
      expect(await office.rows()).toHaveLength(2);
    },
  );

  describe('and moves on between reading and waking', () => {
    /** What another has made of the IDLE session by the time it is to be woken. */
    const overtaken = async (columns: Readonly<Record<string, string>>) => {
      const office = await open();
      await office.write({ state: 'IDLE' });
      afterLookUps(reveille(), (time) => (time === 1 ? office.alter('row', columns) : undefined));
      const reads = jest.spyOn(reveille().get(SessionsRepository), 'find');
      const ensured = await office.ensure();
      return { office, reads, ...ensured };
    };

    it.each(['RUNNING', 'WAITING_FOR_INPUT', 'A_STATE_OF_TOMORROW'])(
      'AC-OFFICE-SESSION-IDENTITY-001.9 is read again, once, and used as it is: %s',
      async (state) => {
        const { office, reads, session, created } = await overtaken({ state });
        expect({ id: session.id, state: session.state }).toEqual({ id: office.idOf(), state });
        expect(created).toBe(false);
        expect(reads).toHaveBeenCalledTimes(1);
        expect((await office.row())['state']).toBe(state);
      },
    );

    it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
      'AC-OFFICE-SESSION-IDENTITY-001.9 is not brought back from %s: the caller gets one of its own',
      async (state) => {
        const { office, session, created } = await overtaken({ state });
        expect(created).toBe(true);
        expect(session.id).not.toBe(office.idOf());
        expect((await office.row('row'))['state']).toBe(state);
      },
    );

    it('AC-OFFICE-SESSION-IDENTITY-003.7 is not handed out unread: the failure of the second reading is the caller’s', async () => {
      const office = await open();
      await office.write({ state: 'IDLE' });
      afterLookUps(reveille(), () => office.alter('row', { state: 'RUNNING' }));
      const store = storeOf(reveille());
      const update = store.update.bind(store);
      let bringBack = () => Promise.resolve();
      jest.spyOn(store, 'update').mockImplementationOnce(async (...change) => {
        const won = await update(...change);
        bringBack = await office.without('task_sessions');
        return won;
      });
      const reads = jest.spyOn(reveille().get(SessionsRepository), 'find');
      const creates = watchCreates(reveille());
      await expect(office.ensure()).rejects.toMatchObject({ name: 'QueryFailedError' });
      await bringBack();
      expect(reads).toHaveBeenCalledTimes(1);
      expect(creates.begun()).toBe(0);
    });
  });

  it.each([
    ['waking it', /^UPDATE "task_sessions" SET "state"/, PROFILE],
    ['binding it to a profile', /^UPDATE "task_sessions" SET .*"execution_profile_id"/s, 'another'],
  ])(
    'AC-OFFICE-SESSION-IDENTITY-003.7 AC-OFFICE-SESSION-IDENTITY-003.4 hands on the failure of %s, which is no conflict and no reason to create',
    async (_what, shape, executionProfileId) => {
      const office = await open();
      await office.write({ state: 'IDLE' });
      const before = await office.rows();
      const creates = watchCreates(reveille());
      const fail = async () => {
        const failing = whileFailing(reveille(), shape, () => office.ensure({ executionProfileId }));
        await expect(failing).rejects.toMatchObject({ name: 'QueryFailedError' });
      };
      expect(await movedBy(reveille(), 'office_sessions_total', fail)).toEqual({});
      expect(creates.begun()).toBe(0);
      expect(await office.rows()).toEqual(before);
      expect(await office.ensure({ executionProfileId })).toMatchObject({ created: false });
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-003.7 hands on the failure of waking the winner after a refusal, too', async () => {
    const office = await open();
    afterLookUps(reveille(), (time) => (time === 1 ? office.write({ state: 'IDLE' }) : undefined));
    const creates = watchCreates(reveille());
    const failing = whileFailing(reveille(), /^UPDATE "task_sessions" SET "state"/, () => office.ensure());
    await expect(failing).rejects.toMatchObject({ name: 'QueryFailedError' });
    expect(creates.begun()).toBe(1);
    expect((await office.row())['state']).toBe('IDLE');
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 is the only row that is written: others of the pair and the task stay to the last byte', async () => {
    const office = await open();
    const given = { executionProfileId: 'codex', metadata: { ...OF_THE_PROVIDER } };
    await office.write(
      { ...given, id: 'reused', state: 'IDLE', startedAt: 30 },
      { ...given, id: 'older', state: 'IDLE', startedAt: 20 },
      { ...given, id: 'over', state: 'COMPLETED', startedAt: 40 },
      { ...given, id: 'other', state: 'IDLE', agentProfileId: 'another' },
    );
    const others = async () => (await office.rows()).filter(({ id }) => id !== office.idOf('reused'));
    const before = await others();
    await office.ensure({ executionProfileId: 'claude' });
    expect(await others()).toEqual(before);
    expect(before).toHaveLength(3);
    expect(metadataOf(await office.row('reused'))).toEqual({});
  });

  it.each<[string, Partial<Session>, string]>([
    ['between turns', { state: 'IDLE' }, 'RUNNING'],
    ['at work', { state: 'RUNNING' }, 'RUNNING'],
    ['only just made', { state: 'CREATED' }, 'CREATED'],
  ])(
    'AC-OFFICE-SESSION-IDENTITY-001.9 is bound to the wanted profile when it is %s, which clears the eight keys of the provider and no other',
    async (_when, given, state) => {
      const office = await open();
      const metadata = { ...OF_THE_PROVIDER, ...OF_THE_TASK };
      await office.write({ ...given, executionProfileId: 'codex', metadata });
      const ensured = await office.ensure({ executionProfileId: 'claude' });
      expect(ensured).toMatchObject({ created: false, session: { id: office.idOf(), state } });
      expect(ensured.session).toMatchObject({ agentProfileId: 'agent', executionProfileId: 'claude' });
      expect(ensured.session.metadata).toEqual(OF_THE_TASK);
      const row = await office.row();
      expect(row).toMatchObject({ agent_profile_id: 'agent', execution_profile_id: 'claude', state });
      expect(metadataOf(row)).toEqual(OF_THE_TASK);
    },
  );

  it.each(Object.keys(OF_THE_PROVIDER))(
    'AC-OFFICE-SESSION-IDENTITY-001.9 loses %s with its profile',
    async (key) => {
      const office = await open();
      await office.write({ state: 'RUNNING', metadata: { [key]: 'something', kept: key } });
      expect((await office.ensure({ executionProfileId: 'claude' })).session.metadata).toEqual({ kept: key });
    },
  );
});
