import { Conversation } from '../support/conversation.js';
import { onEachDatabase } from '../support/databases.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { taskIn } from '../support/session-api.js';
import { storeOf } from '../support/session-seams.js';

const LIVE = ['CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'A_STATE_OF_TOMORROW'];

onEachDatabase('the end of conversations', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));
  afterEach(() => jest.restoreAllMocks());

  /** A task of the first agent's, with a live session of the agent's in every state, and what is not to be touched. */
  const scene = async () => {
    const office = await anOffice(reveille());
    const [agent, other] = [pick(office.agents, 0), pick(office.agents, 1)];
    const taskId = await taskIn(office, 'office', agent);
    const conversation = Conversation.about(reveille(), { ...office, taskId });
    await conversation.write(
      ...LIVE.map((state) => ({ id: state, state, agentProfileId: agent, startedAt: 10 })),
      // The newest of all is over: a look-up that goes by age alone would see no further.
      { id: 'over', state: 'FAILED', agentProfileId: agent, startedAt: 20, completedAt: 21 },
      { id: 'other', state: 'RUNNING', agentProfileId: other },
      { id: 'nobodys', state: 'RUNNING', agentProfileId: null },
    );
    reveille().clock.advance(1000);
    const untouched = () => Promise.all(['over', 'other', 'nobodys'].map((name) => conversation.row(name)));
    return { office, agent, other, taskId, conversation, untouched, before: await untouched() };
  };

  type Scene = Awaited<ReturnType<typeof scene>>;

  const endings: readonly (readonly [string, (scene: Scene) => Promise<unknown>])[] = [
    ['the task is given to another', ({ office, taskId, other }) => assign(office, taskId, other)],
    ['the task is taken away', ({ office, taskId }) => assign(office, taskId, null)],
    ['the agent is deleted', ({ office, agent }) => office.admin.delete(`/v1/agents/${agent}`)],
  ];

  it.each(endings)(
    'come when %s: every live session of the pair is COMPLETED, in whichever state',
    async (_, end) => {
      const scenery = await scene();
      const { conversation, untouched, before } = scenery;
      await end(scenery);
      expect(await conversation.namesIn('COMPLETED')).toEqual([...LIVE].sort());
      expect(Number((await conversation.row('IDLE'))['completed_at'])).toBe(reveille().clock.now());
      expect(await untouched()).toEqual(before);
      const told = await conversation.events('session.state_changed');
      expect(told.map(({ data }) => data['from']).sort()).toEqual([...LIVE].sort());
      expect(new Set(told.map(({ data }) => data['to']))).toEqual(new Set(['COMPLETED']));
    },
  );

  it.each(endings)('come once when %s again: nothing more is written or told', async (_, end) => {
    const scenery = await scene();
    const { conversation } = scenery;
    await end(scenery);
    const [rows, events] = [await conversation.rows(), await conversation.events()];
    reveille().clock.advance(1000);
    await end(scenery);
    expect(await conversation.rows()).toEqual(rows);
    expect(await conversation.events()).toEqual(events);
  });

  it('come with an agent’s last role on the task', async () => {
    const { office, agent, taskId, conversation, untouched, before } = await scene();
    for (const role of ['reviewer', 'approver', 'watcher']) await seat(office, taskId, agent, role);
    await assign(office, taskId, null);
    const path = `/v1/tasks/${taskId}/participants/${agent}`;
    await office.user.delete(`${path}?role=reviewer`);
    // Still an approver.
    expect(await conversation.namesIn('COMPLETED')).toEqual([]);
    await office.user.delete(`${path}?role=approver`);
    // Whoever only watches takes no part.
    expect(await conversation.namesIn('COMPLETED')).toEqual([...LIVE].sort());
    expect(await untouched()).toEqual(before);
  });

  it.each(['reviewer', 'approver'])(
    'do not come while the agent is a %s, nor while it is assigned',
    async (role) => {
      const { office, agent, other, taskId, conversation } = await scene();
      await seat(office, taskId, agent, role);
      const rows = await conversation.rows();
      await assign(office, taskId, agent);
      await assign(office, taskId, other);
      const own = (await conversation.rows()).filter((row) => row['agent_profile_id'] === agent);
      expect(own).toEqual(rows.filter((row) => row['agent_profile_id'] === agent));
      await office.user.delete(`/v1/tasks/${taskId}/participants/${agent}`);
      expect(await conversation.namesIn('COMPLETED')).toEqual([...LIVE].sort());
    },
  );

  it('come on all tasks of an agent that is deleted, and for nobody else', async () => {
    const { office, agent, other } = await scene();
    const elsewhere = Conversation.about(reveille(), { ...office, taskId: await taskIn(office, 'kanban') });
    await elsewhere.write(
      { id: 'own', state: 'IDLE', agentProfileId: agent },
      { id: 'other', state: 'IDLE', agentProfileId: other },
    );
    await office.admin.delete(`/v1/agents/${agent}`);
    expect(await elsewhere.namesIn('COMPLETED')).toEqual(['own']);
    expect(await elsewhere.namesIn('IDLE')).toEqual(['other']);
  });

  it('come for nobody when the pair is unknown or empty', async () => {
    const { conversation, taskId, agent } = await scene();
    const rows = await conversation.rows();
    for (const pair of [
      { taskId, agentProfileId: 'nobody' },
      { taskId, agentProfileId: '' },
      { taskId: '', agentProfileId: agent },
      { taskId: 'nowhere', agentProfileId: agent },
    ])
      await conversation.service.retire(pair);
    expect(await conversation.rows()).toEqual(rows);
    await conversation.service.retire({ taskId, agentProfileId: agent });
    expect(await conversation.namesIn('COMPLETED')).toEqual([...LIVE].sort());
  });

  it('come for a session too that moves on in the same moment', async () => {
    const conversation = await Conversation.open(reveille());
    await conversation.write({ state: 'RUNNING' });
    const store = storeOf(reveille());
    const list = store.list.bind(store);
    jest.spyOn(store, 'list').mockImplementationOnce(async (taskId) => {
      const read = await list(taskId);
      await conversation.alter('row', { state: 'IDLE' });
      return read;
    });
    await conversation.service.retire(conversation.pair);
    expect(await conversation.row()).toMatchObject({ state: 'COMPLETED' });
    const changes = (await conversation.events()).map(({ data }) => [data['from'], data['to']]);
    expect(changes).toEqual([['IDLE', 'COMPLETED']]);
  });
});

const assign = (office: Office, taskId: string, assigneeAgentProfileId: string | null) =>
  office.user.patch(`/v1/tasks/${taskId}`, { assigneeAgentProfileId });

const seat = (office: Office, taskId: string, agent: string, role: string) =>
  office.user.put(`/v1/tasks/${taskId}/participants/${agent}`, { role });
