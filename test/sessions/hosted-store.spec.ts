import { causesOf } from '../../src/errors/causes.js';
import { NotFoundError } from '../../src/errors/reveille-error.js';
import { HostedSessionCreator } from '../../src/sessions/hosted-session.creator.js';
import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import type { EnsuredSession } from '../../src/sessions/office-sessions.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import type { Session } from '../../src/sessions/session.schema.js';
import { TaskLocks } from '../../src/sessions/task-locks.js';
import { AGENT, Conversation, PROFILE } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { AtomicSessionStore, MemorySessionStore } from '../support/memory-session-store.js';
import { movedBy } from '../support/metrics.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aSession } from '../support/rows.js';
import { afterLookUps, holdCreates, watchCreates } from '../support/session-seams.js';

const CALLERS = 64;
const LIVE = ['CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'A_STATE_OF_TOMORROW'];

/** The creator's own locks, which nobody outside has a word for. */
const locksOf = (reveille: TestReveille) =>
  Reflect.get(reveille.get(OfficeSessionCreator), 'locks') as TaskLocks;

onEachDatabase('sessions in a host’s store', (database) => {
  afterEach(() => jest.restoreAllMocks());

  describe('that cannot check and insert in one', () => {
    const store = new MemorySessionStore();
    const reveille = useReveille(() => TestReveille.start(database, { sessionStore: store }));
    const open = () => Conversation.open(reveille());

    const stored = async (office: Conversation, given: Partial<Session> = {}) => {
      const row = aSession({ ...office.pair, id: `${office.taskId}-${given.state ?? 'row'}`, ...given });
      await store.insert(row);
      return row;
    };

    it('AC-OFFICE-SESSION-IDENTITY-001.7 are created under the lock of the task, and our own table stays empty', async () => {
      const office = await open();
      expect(reveille().get(OfficeSessionCreator)).toBeInstanceOf(HostedSessionCreator);
      const locked = jest.spyOn(TaskLocks.prototype, 'during');
      const { session, created } = await office.ensure();
      expect(created).toBe(true);
      expect(locked).toHaveBeenCalledTimes(1);
      expect(locked).toHaveBeenCalledWith(office.taskId, expect.anything());
      expect(await store.list(office.taskId)).toEqual([session]);
      expect(session.metadata).toEqual({ origin: 'task_initial' });
      expect(await office.rows()).toEqual([]);
      expect(await office.events()).toMatchObject([{ type: 'session.created', sessionId: session.id }]);
    });

    it(`AC-OFFICE-SESSION-IDENTITY-001.7 AC-OFFICE-SESSION-IDENTITY-003.1 are one for ${CALLERS} callers who have all found nothing`, async () => {
      const office = await open();
      const creates = holdCreates(reveille(), CALLERS);
      let ensured: readonly EnsuredSession[] = [];
      const converge = async () => {
        ensured = await Promise.all(Array.from({ length: CALLERS }, () => office.ensure()));
      };
      expect(await movedBy(reveille(), 'office_sessions_total', converge)).toEqual({
        'result="created"': 1,
        'result="reused"': CALLERS - 1,
      });
      const rows = await store.list(office.taskId);
      expect(rows).toHaveLength(1);
      expect(new Set(ensured.map(({ session }) => session.id))).toEqual(new Set(rows.map(({ id }) => id)));
      expect(await creates.refused()).toBe(CALLERS - 1);
      expect(await office.events()).toHaveLength(1);
      expect(locksOf(reveille()).size).toBe(0);
    });

    it.each(LIVE)(
      'AC-OFFICE-SESSION-IDENTITY-001.7 AC-OFFICE-SESSION-IDENTITY-001.4 are refused while the pair has one that is %s',
      async (state) => {
        const office = await open();
        const row = await stored(office, { state });
        await expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict);
        expect(await store.list(office.taskId)).toEqual([row]);
      },
    );

    it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
      'AC-OFFICE-SESSION-IDENTITY-001.7 AC-OFFICE-SESSION-IDENTITY-001.3 are made beside one that is %s',
      async (state) => {
        const office = await open();
        const row = await stored(office, { state });
        const session = await office.create();
        expect(await store.list(office.taskId)).toEqual([row, session]);
        await expect(office.create()).rejects.toThrow(OfficeSessionRaceConflict);
      },
    );

    it('AC-OFFICE-SESSION-IDENTITY-001.7 are narrowed to the pair before states are looked at: another agent’s refuses nobody', async () => {
      const office = await open();
      await stored(office, { state: 'RUNNING', agentProfileId: 'another' });
      await stored(office, { id: `${office.taskId}-nobodys`, state: 'RUNNING', agentProfileId: null });
      expect(await office.create()).toMatchObject({ agentProfileId: AGENT });
      await expect(office.create({ agentProfileId: 'another' })).rejects.toThrow(OfficeSessionRaceConflict);
    });

    it.each(['', null])(
      'AC-OFFICE-SESSION-IDENTITY-001.7 AC-OFFICE-SESSION-IDENTITY-001.5 are never refused without an agent (%p), nor taken for another without one',
      async (agentProfileId) => {
        const office = await open();
        await stored(office, { state: 'RUNNING', agentProfileId });
        const made = await Promise.all([
          office.create({ agentProfileId }),
          office.create({ agentProfileId }),
        ]);
        expect(made.map((session) => session.agentProfileId)).toEqual([null, null]);
        expect(await store.list(office.taskId)).toHaveLength(3);
      },
    );

    it('AC-OFFICE-SESSION-IDENTITY-001.7 AC-OFFICE-SESSION-IDENTITY-003.7 fail as the store does when it cannot list, and nothing is made', async () => {
      const office = await open();
      const failure = new Error('the host’s disk is full');
      jest.spyOn(store, 'list').mockRejectedValue(failure);
      // The look-up lists too, so that the guard is asked by itself.
      const refused: unknown = await office.create().catch((error: unknown) => error);
      expect(causesOf(refused)).toContain(failure);
      expect(causesOf(refused).some((cause) => cause instanceof OfficeSessionRaceConflict)).toBe(false);
      await expect(office.ensure()).rejects.toBe(failure);
      jest.restoreAllMocks();
      expect(await store.list(office.taskId)).toEqual([]);
      expect(await office.events()).toEqual([]);
      expect(locksOf(reveille()).size).toBe(0);
      expect(await office.ensure()).toMatchObject({ created: true });
    });

    // On SQLite a creation holds the one writer, so that there they all wait for each other.
    if (database === 'postgres') {
      it('AC-OFFICE-SESSION-IDENTITY-001.7 wait for those of the same task, and not for those of another', async () => {
        const [held, free] = [await open(), await open()];
        const mayGoOn = new Gate();
        const isThere = new Gate();
        const list = store.list.bind(store);
        const listed: string[] = [];
        jest.spyOn(store, 'list').mockImplementation(async (taskId) => {
          listed.push(taskId);
          if (taskId === held.taskId) {
            isThere.open();
            await mayGoOn.passed;
          }
          return list(taskId);
        });
        const first = held.create();
        await isThere.passed;
        const second = held.create({ agentProfileId: 'another' });
        expect(await free.create()).toMatchObject({ taskId: free.taskId });
        // The second has not even begun to look.
        expect(listed.filter((taskId) => taskId === held.taskId)).toHaveLength(1);
        mayGoOn.open();
        expect((await Promise.all([first, second])).map(({ agentProfileId }) => agentProfileId)).toEqual([
          AGENT,
          'another',
        ]);
        expect(locksOf(reveille()).size).toBe(0);
      });
    }

    it('AC-OFFICE-SESSION-IDENTITY-001.7 leave no lock behind, of many tasks, made or refused', async () => {
      const offices = await Promise.all(Array.from({ length: 30 }, open));
      const ends = await Promise.allSettled(offices.flatMap((office) => [office.create(), office.create()]));
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(30);
      expect(locksOf(reveille()).size).toBe(0);
    });

    it('AC-OFFICE-SESSION-IDENTITY-001.9 are reused and bound as in our own table, by the store’s comparing write', async () => {
      const office = await open();
      const metadata = { acp_session_id: 'of-codex', note: 'kept' };
      const row = await stored(office, { state: 'IDLE', executionProfileId: 'codex', metadata });
      expect(await office.ensure()).toMatchObject({
        created: false,
        session: { id: row.id, state: 'RUNNING', executionProfileId: PROFILE, metadata: { note: 'kept' } },
      });
      await office.service.retire(office.pair);
      expect(await store.list(office.taskId)).toMatchObject([{ id: row.id, state: 'COMPLETED' }]);
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.7 are not made for a task that is not ours', async () => {
      await expect((await open()).ensure({ taskId: 'nowhere' })).rejects.toThrow(NotFoundError);
      expect(await store.list('nowhere')).toEqual([]);
    });
  });

  describe('that can check and insert in one', () => {
    const store = new AtomicSessionStore();
    const reveille = useReveille(() => TestReveille.start(database, { sessionStore: store }));
    const open = () => Conversation.open(reveille());

    it('AC-OFFICE-SESSION-IDENTITY-001.7 are created by it, without a check of ours', async () => {
      const office = await open();
      expect(reveille().get(OfficeSessionCreator)).toBeInstanceOf(HostedSessionCreator);
      const byStore = jest.spyOn(store, 'createOfficeSession');
      const plainly = jest.spyOn(store, 'insert');
      const listed = jest.spyOn(store, 'list');
      const session = await office.create();
      expect(byStore).toHaveBeenCalledWith(session);
      // Once for the mark of a task's first session, and not for a check.
      expect(listed).toHaveBeenCalledTimes(1);
      expect(plainly).not.toHaveBeenCalled();
      expect(await store.list(office.taskId)).toEqual([session]);
      // A launch is free of the guard here too.
      await office.launch();
      expect(plainly).toHaveBeenCalledTimes(1);
      expect(byStore).toHaveBeenCalledTimes(1);
    });

    it('are moved on and replaced by their ids, as it can find by those', async () => {
      const office = await open();
      const { id } = await office.create();
      expect(await office.service.setState(id, 'RUNNING')).toMatchObject({ state: 'RUNNING' });
      expect(await office.service.get(id)).toMatchObject({ state: 'RUNNING' });
      expect(await office.service.replace(id)).toMatchObject({ state: 'CREATED', metadata: {} });
      expect(await store.list(office.taskId)).toHaveLength(2);
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-003.2 are one for callers at once, whose refusals by the store lead to the winner’s', async () => {
      const office = await open();
      const creates = holdCreates(reveille(), CALLERS);
      const ensured = await Promise.all(Array.from({ length: CALLERS }, () => office.ensure()));
      expect(new Set(ensured.map(({ session }) => session.id)).size).toBe(1);
      expect(ensured.filter(({ created }) => created)).toHaveLength(1);
      expect(await creates.refused()).toBe(CALLERS - 1);
      expect(await store.list(office.taskId)).toHaveLength(1);
      expect(await office.events()).toHaveLength(1);
    });

    it('AC-OFFICE-SESSION-IDENTITY-003.3 AC-OFFICE-SESSION-IDENTITY-003.7 are given up as a conflict after two refusals, and as any other failure after one', async () => {
      const office = await open();
      const creates = watchCreates(reveille(), {
        before: () => office.launch(),
        after: () => office.service.retire(office.pair),
      });
      await expect(office.ensure()).rejects.toThrow(OfficeSessionRaceConflict);
      expect(creates.begun()).toBe(2);
      jest.restoreAllMocks();
      const failure = new Error('the host’s disk is full');
      jest.spyOn(store, 'createOfficeSession').mockRejectedValue(failure);
      const lookUps = afterLookUps(reveille());
      await expect(office.ensure()).rejects.toBe(failure);
      expect(lookUps).toHaveBeenCalledTimes(1);
    });
  });
});

describe('locks per task', () => {
  it('AC-OFFICE-SESSION-IDENTITY-001.7 keep nobody waiting at another task', async () => {
    const locks = new TaskLocks();
    const mayEnd = new Gate();
    const held = locks.during('held', () => mayEnd.passed);
    expect(await locks.during('free', () => Promise.resolve('done'))).toBe('done');
    expect(locks.size).toBe(1);
    mayEnd.open();
    await held;
    expect(locks.size).toBe(0);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.7 are given back after work that fails, and are kept for as long as somebody waits', async () => {
    const locks = new TaskLocks();
    const mayEnd = new Gate();
    const order: string[] = [];
    const failing = locks.during('task', async () => {
      await mayEnd.passed;
      order.push('first');
      throw new Error('on purpose');
    });
    const waiting = locks.during('task', () => Promise.resolve(order.push('second')));
    expect(locks.size).toBe(1);
    mayEnd.open();
    await expect(failing).rejects.toThrow('on purpose');
    await waiting;
    expect(order).toEqual(['first', 'second']);
    expect(locks.size).toBe(0);
  });
});
