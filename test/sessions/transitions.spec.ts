import { SessionsRepository } from '../../src/sessions/sessions.repository.js';
import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { anOffice } from '../support/office.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { holdCreates, watchCreates } from '../support/session-seams.js';

const STATES = [
  'CREATED',
  'STARTING',
  'RUNNING',
  'IDLE',
  'WAITING_FOR_INPUT',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;
const ENDS = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** The contract's table: whereto from each state. */
const ONWARD: Record<(typeof STATES)[number] | 'A_STATE_OF_TOMORROW', readonly string[]> = {
  CREATED: ['STARTING', 'RUNNING', ...ENDS],
  STARTING: ['RUNNING', ...ENDS],
  RUNNING: ['IDLE', 'WAITING_FOR_INPUT', ...ENDS],
  IDLE: ['RUNNING', ...ENDS],
  WAITING_FOR_INPUT: ['RUNNING', ...ENDS],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  A_STATE_OF_TOMORROW: ENDS,
};

onEachDatabase('the state of a session over HTTP', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  afterEach(() => jest.restoreAllMocks());

  const scene = async () => {
    const office = await anOffice(reveille(), 1);
    return { ...office, conversation: Conversation.about(reveille(), office) };
  };

  it.each(Object.entries(ONWARD))('goes from %s only to what the table has: %p', async (from, onward) => {
    const { user, conversation } = await scene();
    await conversation.write(...STATES.map((to) => ({ id: to, state: from })));
    reveille().clock.advance(1000);
    const now = new Date(reveille().clock.now()).toISOString();
    for (const to of STATES) {
      const before = await conversation.row(to);
      const { status, body } = await user.patch(`/v1/sessions/${conversation.idOf(to)}`, { state: to });
      if (onward.includes(to)) {
        const completedAt = ENDS.includes(to) ? now : null;
        expect({ from, to, status, body }).toMatchObject({ status: 200, body: { state: to, completedAt } });
        expect((await conversation.row(to))['state']).toBe(to);
      } else {
        expect({ from, to, status, body }).toMatchObject({
          status: 409,
          body: { code: 'illegal_transition' },
        });
        expect(await conversation.row(to)).toEqual(before);
      }
    }
    const told = await conversation.events();
    expect(told.map(({ type, data }) => [type, data['from'], data['to']]).sort()).toEqual(
      onward.map((to) => ['session.state_changed', from, to]).sort(),
    );
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.3 answers 409 session_conflict when a pair was taken twice and could be used at neither time', async () => {
    const { user, conversation, agents, taskId } = await scene();
    const pair = { taskId, agentProfileId: agents[0] ?? '' };
    const creates = watchCreates(reveille(), {
      before: () => conversation.launch(pair),
      after: () => conversation.service.retire(pair),
    });
    const body = { agentProfileId: pair.agentProfileId, executionProfileId: 'profile' };
    const ensure = () => user.post(`/v1/tasks/${taskId}/sessions/ensure`, body);
    expect(await ensure()).toMatchObject({ status: 409, body: { code: 'session_conflict', status: 409 } });
    expect(creates.begun()).toBe(2);
    jest.restoreAllMocks();
    expect(await ensure()).toMatchObject({ status: 200, body: { created: true } });
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.1 AC-OFFICE-SESSION-IDENTITY-003.2 answers every one of 8 requests that have all found nothing with the one session', async () => {
    const { user, agents, taskId } = await scene();
    const creates = holdCreates(reveille(), 8);
    const body = { agentProfileId: agents[0], executionProfileId: 'profile' };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        user.post<{ session: { id: string }; created: boolean }>(`/v1/tasks/${taskId}/sessions/ensure`, body),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => answer.body.session.id)).size).toBe(1);
    expect(answers.filter((answer) => answer.body.created)).toHaveLength(1);
    expect(await creates.refused()).toBe(7);
  });

  it.each([
    ['CANCELLED', 200, 'CANCELLED'],
    ['RUNNING', 409, 'RUNNING'],
  ])('is judged anew for %s when the session moves in the same moment', async (to, expected, state) => {
    const { user, conversation } = await scene();
    await conversation.write({ state: 'IDLE' });
    const repository = reveille().get(SessionsRepository);
    const find = repository.find.bind(repository);
    let reads = 0;
    jest.spyOn(repository, 'find').mockImplementation(async (id) => {
      const found = await find(id);
      // The first reading is for the caller's right, the second is what the move goes by.
      if (++reads === 2) await conversation.ensure();
      return found;
    });
    const { status } = await user.patch(`/v1/sessions/${conversation.idOf()}`, { state: to });
    expect({ status, reads }).toEqual({ status: expected, reads: 3 });
    expect((await conversation.row())['state']).toBe(state);
  });
});
