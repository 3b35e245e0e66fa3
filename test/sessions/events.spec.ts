import { EventLog } from '../../src/events/event-log.js';
import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { afterLookUps, holdCreates, watchCreates } from '../support/session-seams.js';
import { wireOf } from '../support/wire.js';

onEachDatabase('what the log tells of sessions', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());
  afterEach(() => jest.restoreAllMocks());

  it('AC-OFFICE-SESSION-IDENTITY-003.5 is one creation for a session that is made once and reused twice', async () => {
    const office = await open();
    const { session } = await office.ensure();
    await office.ensure();
    await office.ensure({ executionProfileId: 'another' });
    expect(await office.events()).toEqual([{ type: 'session.created', sessionId: session.id, data: {} }]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 AC-OFFICE-SESSION-IDENTITY-003.1 is one creation for 16 callers that converge, and nothing of the losers', async () => {
    const office = await open();
    const creates = holdCreates(reveille(), 16);
    const ensured = await Promise.all(Array.from({ length: 16 }, () => office.ensure()));
    expect(await creates.refused()).toBe(15);
    const { id } = ensured.find(({ created }) => created)?.session ?? {};
    expect(await office.events()).toEqual([{ type: 'session.created', sessionId: id, data: {} }]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 is no creation by a caller that lost and recovered, only the waking', async () => {
    const office = await open();
    afterLookUps(reveille(), (time) => (time === 1 ? office.write({ state: 'IDLE' }) : undefined));
    const creates = watchCreates(reveille());
    await office.ensure();
    expect(await creates.refused()).toBe(1);
    const data = { from: 'IDLE', to: 'RUNNING' };
    expect(await office.events()).toEqual([
      { type: 'session.state_changed', sessionId: office.idOf(), data },
    ]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 is written by the transaction that inserts, so that there is neither without the other', async () => {
    const office = await open();
    const sent = await wireOf(() => office.create());
    const place = (shape: RegExp) => sent.findIndex(({ sql }) => shape.test(sql));
    const [row, event] = [place(/^INSERT INTO "task_sessions"/), place(/^INSERT INTO "events"/)];
    // Told first, because a host's own store cannot take back what it has inserted.
    const between = sent.slice(event, row).filter(({ connection }) => connection === sent[row]?.connection);
    expect(sent[event]?.connection).toBe(sent[row]?.connection);
    expect(between.length).toBeGreaterThan(0);
    expect(between.filter(({ sql }) => /^(COMMIT|ROLLBACK)/.test(sql))).toEqual([]);
    const second = { agentProfileId: 'another' };
    await expect(
      whileFailing(reveille(), /^INSERT INTO "events"/, () => office.ensure(second)),
    ).rejects.toMatchObject({ name: 'QueryFailedError' });
    expect(await office.rows()).toHaveLength(1);
    expect(await office.events()).toHaveLength(1);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 reaches whoever reads on from a place in the log, once, in the order of what happened', async () => {
    const office = await open();
    const log = reveille().get(EventLog);
    const before = await log.latest();
    const { session } = await office.ensure();
    await office.service.setState(session.id, 'RUNNING');
    await office.ensure();
    await office.service.retire(office.pair);
    await office.ensure();
    const read = await log.after(office.workspaceId, before, 50);
    expect(read.map(({ type, data }) => [type, data['to']] as [string, unknown])).toEqual([
      ['session.created', undefined],
      ['session.state_changed', 'RUNNING'],
      ['session.state_changed', 'COMPLETED'],
      ['session.created', undefined],
    ]);
    const { taskId, agentProfileId } = office.pair;
    expect(read[0]?.subject).toEqual({ sessionId: session.id, taskId, agentProfileId });
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 is a creation for every launch, of which each makes a row', async () => {
    const office = await open();
    const launched = [await office.launch(), await office.launch({ agentProfileId: null })];
    launched.push(await office.service.replace(launched[0]?.id ?? ''));
    const told = await office.events('session.created');
    expect(told.map(({ sessionId }) => sessionId).sort()).toEqual(launched.map(({ id }) => id).sort());
  });

  it('is nothing of a change that was not made, because the session had moved on', async () => {
    const office = await open();
    await office.write({ state: 'IDLE' });
    afterLookUps(reveille(), (time) => (time === 1 ? office.alter('row', { state: 'RUNNING' }) : undefined));
    await office.ensure();
    expect(await office.events()).toEqual([]);
  });
});
