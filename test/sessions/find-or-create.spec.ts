import { causesOf } from '../../src/errors/causes.js';
import { ValidationError } from '../../src/errors/reveille-error.js';
import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import type { EnsuredSession } from '../../src/sessions/office-sessions.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import { AGENT, Conversation, PROFILE } from '../support/conversation.js';
import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { afterLookUps, holdCreates, watchCreates } from '../support/session-seams.js';
import { wireOf } from '../support/wire.js';

const RESULTS = 'office_sessions_total';
const CALLERS = 16;

/** How each driver says that a table is not there. */
const NO_SUCH_TABLE: Record<DatabaseName, RegExp> = {
  sqlite: /no such table/,
  postgres: /relation .* does not exist/,
};

/** Whether a type has room for nothing; the compiler answers. */
type MayBeNothing<T> = [Extract<T, null | undefined>] extends [never] ? false : true;

onEachDatabase('find-or-create', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());
  afterEach(() => jest.restoreAllMocks());

  /** A rival takes the pair before the first attempts to create, and gives it up before the reading after each. */
  const rivals = (office: Conversation, attempts: number) =>
    watchCreates(reveille(), {
      before: (attempt) => (attempt <= attempts ? office.launch() : undefined),
      after: (attempt) => (attempt <= attempts ? office.service.retire(office.pair) : undefined),
    });

  it('AC-OFFICE-SESSION-IDENTITY-003.1 makes the session that is missing', async () => {
    const office = await open();
    const creates = watchCreates(reveille());
    const makes = async () => {
      expect(await office.ensure({ executorId: 'executor' })).toMatchObject({
        session: {
          taskId: office.taskId,
          workspaceId: office.workspaceId,
          agentProfileId: AGENT,
          executionProfileId: PROFILE,
          executorId: 'executor',
          state: 'CREATED',
          isPrimary: false,
          completedAt: null,
        },
        created: true,
      });
    };
    expect(await movedBy(reveille(), RESULTS, makes)).toEqual({ 'result="created"': 1 });
    expect(creates.begun()).toBe(1);
    expect((await office.row())['execution_profile_id']).toBe(PROFILE);
  });

  it.each(['taskId', 'agentProfileId', 'executionProfileId'])(
    'AC-OFFICE-SESSION-IDENTITY-003.4 refuses a request whose %s is empty, before anything is read or made',
    async (field) => {
      const office = await open();
      const sent = await wireOf(() =>
        expect(office.ensure({ [field]: '' })).rejects.toThrow(ValidationError),
      );
      expect(sent.filter(({ sql }) => sql.includes('task_sessions'))).toEqual([]);
      expect(await office.rows()).toEqual([]);
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-003.4 has no room in its answer’s type for no session', async () => {
    const answer: MayBeNothing<EnsuredSession> = false;
    const session: MayBeNothing<EnsuredSession['session']> = false;
    expect([answer, session]).toEqual([false, false]);
    expect((await (await open()).ensure()).session).toBeDefined();
  });

  it(`AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-003.2 gives ${CALLERS} callers that have all found nothing one session, and each but its maker says that it was there`, async () => {
    const office = await open();
    const creates = holdCreates(reveille(), CALLERS);
    let ensured: readonly EnsuredSession[] = [];
    const converge = async () => {
      ensured = await Promise.all(Array.from({ length: CALLERS }, () => office.ensure()));
    };
    expect(await movedBy(reveille(), RESULTS, converge)).toEqual({
      'result="created"': 1,
      'result="reused"': CALLERS - 1,
    });
    const { id } = await office.row();
    expect(ensured.every(({ session }) => session.id === id)).toBe(true);
    expect(ensured.filter(({ created }) => created)).toHaveLength(1);
    expect(creates.begun()).toBe(CALLERS);
    expect(await creates.refused()).toBe(CALLERS - 1);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.2 reads again once the refused transaction is rolled back, and takes the winner', async () => {
    const office = await open();
    afterLookUps(reveille(), (time) => (time === 1 ? office.write({ state: 'RUNNING' }) : undefined));
    const creates = watchCreates(reveille());
    const sent = await wireOf(async () => {
      expect(await office.ensure()).toMatchObject({ session: { id: office.idOf() }, created: false });
    });
    const steps = [/liveness/, /^SELECT .*"task_sessions".*NOT IN/s, /^ROLLBACK$/];
    const taken = sent.map(({ sql }) => steps.findIndex((step) => step.test(sql)));
    expect(taken.filter((step) => step >= 0)).toEqual([0, 1, 2, 0]);
    expect(creates.begun()).toBe(1);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.3 creates at the second attempt when what blocked the first is over at the reading', async () => {
    const office = await open();
    const creates = rivals(office, 1);
    const lookUps = afterLookUps(reveille());
    const { session, created } = await office.ensure();
    expect(created).toBe(true);
    expect(creates.begun()).toBe(2);
    expect(lookUps).toHaveBeenCalledTimes(2);
    const rows = await office.rows();
    expect(rows).toHaveLength(2);
    expect(rows.find(({ id }) => id !== session.id)).toMatchObject({ state: 'COMPLETED' });
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.3 gives up with the conflict after two attempts, though a third would succeed', async () => {
    const office = await open();
    const creates = rivals(office, 2);
    const lookUps = afterLookUps(reveille());
    const giveUp = () => expect(office.ensure()).rejects.toThrow(OfficeSessionRaceConflict);
    expect(await movedBy(reveille(), RESULTS, giveUp)).toEqual({ 'result="conflict"': 1 });
    expect(creates.begun()).toBe(2);
    expect(await creates.refused()).toBe(2);
    expect(lookUps).toHaveBeenCalledTimes(3);
    expect((await office.rows()).map((row) => row['state'])).toEqual(['COMPLETED', 'COMPLETED']);
    expect(await office.ensure()).toMatchObject({ created: true });
  });

  describe('when the refusal arrives wrapped', () => {
    /** Wraps whatever an attempt fails with, twice. */
    const wrapFailures = () => {
      const creator = reveille().get(OfficeSessionCreator);
      const create = creator.create.bind(creator);
      const wrapped = (cause: unknown) => new Error('outer', { cause: new Error('inner', { cause }) });
      return jest
        .spyOn(creator, 'create')
        .mockImplementation((wanted) =>
          create(wanted).catch((error: unknown) => Promise.reject(wrapped(error))),
        );
    };

    it('AC-OFFICE-SESSION-IDENTITY-001.2 AC-OFFICE-SESSION-IDENTITY-003.2 knows it through the chain of causes and recovers', async () => {
      const office = await open();
      wrapFailures();
      afterLookUps(reveille(), (time) => (time === 1 ? office.write({ state: 'RUNNING' }) : undefined));
      expect(await office.ensure()).toMatchObject({ session: { id: office.idOf() }, created: false });
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.7 does not take another failure for one, whatever it is called', async () => {
      const office = await open();
      const attempts = wrapFailures();
      const failure: unknown = await whileFailing(reveille(), /^INSERT INTO "task_sessions"/, () =>
        office.ensure(),
      ).catch((error: unknown) => error);
      expect(causesOf(failure).some((cause) => cause instanceof OfficeSessionRaceConflict)).toBe(false);
      expect(causesOf(failure)).toContainEqual(expect.objectContaining({ name: 'QueryFailedError' }));
      expect(attempts).toHaveBeenCalledTimes(1);
    });
  });

  describe('when the database fails', () => {
    const driversError = () =>
      expect.objectContaining({
        name: 'QueryFailedError',
        driverError: expect.objectContaining({
          message: expect.stringMatching(NO_SUCH_TABLE[database]) as string,
        }) as Error,
      }) as Error;

    /** What a call fails with, having counted neither as made nor as reused nor as a conflict. */
    const failureOf = async (work: () => Promise<unknown>) => {
      let failure: unknown;
      const fail = async () => {
        failure = await work().catch((error: unknown) => error);
      };
      expect(await movedBy(reveille(), RESULTS, fail)).toEqual({});
      return failure;
    };

    it('AC-OFFICE-SESSION-IDENTITY-003.7 hands on what the insert failed with, and tries no more', async () => {
      const office = await open();
      const creates = watchCreates(reveille());
      const failing = () => whileFailing(reveille(), /^INSERT INTO "task_sessions"/, () => office.ensure());
      expect(await failureOf(failing)).toEqual(driversError());
      expect(creates.begun()).toBe(1);
      expect(await office.ensure()).toMatchObject({ created: true });
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.7 hands on what the first look-up failed with, and tries to create nothing', async () => {
      const office = await open();
      const creates = watchCreates(reveille());
      const bringBack = await office.without('task_sessions');
      expect(await failureOf(() => office.ensure())).toEqual(driversError());
      await bringBack();
      expect(creates.begun()).toBe(0);
      expect(await office.ensure()).toMatchObject({ created: true });
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.7 hands on what the reading after a refusal failed with, and tries no more', async () => {
      const office = await open();
      let bringBack = () => Promise.resolve();
      const creates = watchCreates(reveille(), {
        before: (attempt) => (attempt === 1 ? office.launch() : undefined),
        after: async () => {
          bringBack = await office.without('task_sessions');
        },
      });
      expect(await failureOf(() => office.ensure())).toEqual(driversError());
      await bringBack();
      expect(creates.begun()).toBe(1);
      expect(await creates.refused()).toBe(1);
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.7 hands on what the second attempt failed with', async () => {
      const office = await open();
      let bringBack = () => Promise.resolve();
      const creates = watchCreates(reveille(), {
        before: async (attempt) => {
          if (attempt === 1) await office.launch();
          else bringBack = await office.without('tasks');
        },
        after: (attempt) => (attempt === 1 ? office.service.retire(office.pair) : undefined),
      });
      expect(await failureOf(() => office.ensure())).toEqual(driversError());
      await bringBack();
      expect(creates.begun()).toBe(2);
      expect(await creates.refused()).toBe(1);
    });
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.6 takes, of several live ones below a newer that is over, the newest live one, and leaves the others as they were', async () => {
    const office = await open();
    await office.write(
      { id: 'over', state: 'COMPLETED', startedAt: 40, completedAt: 41 },
      { id: 'newest', state: 'WAITING_FOR_INPUT', startedAt: 30 },
      { id: 'middle', state: 'IDLE', startedAt: 20, metadata: { acp_session_id: 'middle' } },
      { id: 'oldest', state: 'CREATED', startedAt: 10 },
    );
    const before = await office.rows();
    const creates = watchCreates(reveille());
    for (let time = 0; time < 5; time++)
      expect(await office.ensure()).toMatchObject({ session: { id: office.idOf('newest') }, created: false });
    expect(await office.rows()).toEqual(before);
    expect(creates.begun()).toBe(0);
  });
});
