import fc from 'fast-check';
import type { Session } from '../../src/sessions/session.schema.js';
import { AGENT, Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aSession } from '../support/rows.js';
import { wireOf } from '../support/wire.js';

const OVER = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

onEachDatabase('the look-up of a pair’s session', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());

  /** The name under which the row that is found was written. */
  const found = async (office: Conversation) =>
    (await office.find())?.id.slice(office.taskId.length + 1) ?? null;

  it.each([...OVER])(
    'AC-OFFICE-SESSION-IDENTITY-002.1 prefers one that lives to one that is %s, however new that is',
    async (state) => {
      const office = await open();
      await office.write(
        { id: 'z-new', state, startedAt: 100 },
        { id: 'a-old', state: 'IDLE', startedAt: 1 },
      );
      expect(await found(office)).toBe('a-old');
      await office.alter('a-old', { state });
      expect(await found(office)).toBe('z-new');
    },
  );

  it('AC-OFFICE-SESSION-IDENTITY-002.2 prefers the newer of two that live, though its id is the smaller', async () => {
    const office = await open();
    await office.write(
      { id: 'z', state: 'RUNNING', startedAt: 1 },
      { id: 'a', state: 'CREATED', startedAt: 2 },
    );
    expect(await found(office)).toBe('a');
    await office.alter('z', { started_at: 3 });
    expect(await found(office)).toBe('z');
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.2 finds the newest where all are over', async () => {
    const office = await open();
    await office.write(
      { id: 'z', state: 'FAILED', startedAt: 1 },
      { id: 'a', state: 'COMPLETED', startedAt: 2 },
    );
    expect(await found(office)).toBe('a');
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.2 compares instants as numbers, of however many digits', async () => {
    const office = await open();
    const startedAt = Date.UTC(2026, 0, 1);
    await office.write({ id: 'z', state: 'IDLE', startedAt: 999 }, { id: 'a', state: 'IDLE', startedAt });
    expect(await found(office)).toBe('a');
    expect((await office.find())?.startedAt).toBe(startedAt);
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.3 finds the greatest id, byte by byte, of those that began in the same instant, a hundred times', async () => {
    const office = await open();
    const ids = ['a', 'B', 'b', '_', '9', 'A'];
    await office.write(...ids.map((id) => ({ id, state: 'RUNNING', startedAt: 7 })));
    for (let time = 0; time < 100; time++) expect(await found(office)).toBe('b');
    await office.alter('b', { state: 'COMPLETED' });
    expect(await found(office)).toBe('a');
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.4 finds nothing for a pair without rows', async () => {
    const office = await open();
    await office.write({ agentProfileId: 'another' }, { id: 'nobodys', agentProfileId: null });
    expect(await office.find()).toBeNull();
    expect(await office.service.find({ taskId: 'nowhere', agentProfileId: AGENT })).toBeNull();
    await office.write({ id: 'own' });
    expect(await found(office)).toBe('own');
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.4 asks nothing when the task’s or the agent’s id is empty', async () => {
    const office = await open();
    const { taskId } = office;
    // Rows that would match, had anybody stored an empty id.
    await office.write({ taskId: '' }, { id: 'unnamed', agentProfileId: '' });
    const asked = (work: () => Promise<unknown>) =>
      wireOf(work).then((sent) => sent.filter(({ sql }) => sql.includes('task_sessions')).length);
    for (const pair of [
      { taskId: '', agentProfileId: AGENT },
      { taskId, agentProfileId: '' },
      { taskId: '', agentProfileId: '' },
    ])
      expect(await asked(() => expect(office.service.find(pair)).resolves.toBeNull())).toBe(0);
    expect(await asked(() => office.find())).toBe(1);
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.5 AC-OFFICE-SESSION-IDENTITY-002.1 AC-OFFICE-SESSION-IDENTITY-002.2 AC-OFFICE-SESSION-IDENTITY-002.3 finds what a sort finds that knows no database, for 60 sets of rows', async () => {
    // The seed makes the sets the same on both databases, so that equal to the sort is equal to each other.
    for (const rows of fc.sample(ROW_SETS, { numRuns: 60, seed: 20_260_831 })) {
      const office = await open();
      await office.write(...rows);
      expect({ rows, found: await found(office) }).toEqual({ rows, found: preferred(rows) });
    }
  });
});

const ROW_SETS = fc.uniqueArray(
  fc.record({
    id: fc.string({
      unit: fc.constantFrom('a', 'A', 'z', 'Z', '_', '-', '0', 'ä'),
      minLength: 1,
      maxLength: 4,
    }),
    state: fc.constantFrom(...OVER, 'CREATED', 'RUNNING', 'IDLE', 'A_STATE_OF_TOMORROW'),
    startedAt: fc.constantFrom(0, 1, 9, 10, 1_790_000_000_000),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 8 },
);

/** The order of the criteria, written out once more. */
function preferred(rows: readonly Pick<Session, 'id' | 'state' | 'startedAt'>[]): string | undefined {
  const [first] = rows
    .map((row) => aSession(row))
    .sort(
      (one, other) =>
        Number(OVER.has(one.state)) - Number(OVER.has(other.state)) ||
        other.startedAt - one.startedAt ||
        Buffer.compare(Buffer.from(other.id), Buffer.from(one.id)),
    );
  return first?.id;
}
