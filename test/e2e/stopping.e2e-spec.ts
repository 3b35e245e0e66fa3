import { type DatabaseName, type TestDatabase, freshDatabase, onEachDatabase } from '../support/databases.js';
import { type Outsider, onDatabase, onPostgres } from '../support/outsider.js';
import { type ServerProcess, call, databaseUrl, useServerProcesses } from '../support/server-process.js';
import { until } from '../support/until.js';

const SECOND_MS = 1000;

/** Says through its task's title that it is at work, and then that it was told to end, which it does not. */
const STUBBORN = `
  const tell = (title) => fetch(process.env.REVEILLE_URL + '/v1/tasks/' + process.env.REVEILLE_TASK_ID, {
    method: 'PATCH',
    headers: { Authorization: 'Bearer ' + process.env.REVEILLE_TOKEN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title }),
  });
  process.on('SIGTERM', () => tell('told to end'));
  setInterval(() => undefined, 1000);
  tell('at work');`;

interface Claims {
  readonly claims: readonly object[];
}

onEachDatabase('a server that is told to stop', (name: DatabaseName) => {
  const start = useServerProcesses();
  let database: TestDatabase;
  beforeEach(async () => {
    database = await freshDatabase(name);
  });
  afterEach(() => database.drop());

  /** A server in which one agent has the stubborn program, and two have none. */
  async function serving(settings: Readonly<Record<string, string>> = {}) {
    const server = await start({ DATABASE_URL: databaseUrl(name, database), ...settings });
    const url = await server.url();
    await call(url, '/v1/workspaces', { id: 'w', name: 'W' });
    const command = [process.execPath, '-e', STUBBORN];
    await call(url, '/v1/agents', { id: 'stubborn', workspaceId: 'w', name: 'S', command });
    for (const id of ['woken', 'lonely']) await call(url, '/v1/agents', { id, workspaceId: 'w', name: id });
    await call(url, '/v1/wakes', { agentProfileId: 'woken', reason: 'hello', payload: {} });
    return { server, url };
  }

  async function atWork(url: string): Promise<void> {
    const task = {
      id: 't',
      workspaceId: 'w',
      title: 'T',
      kind: 'office',
      assigneeAgentProfileId: 'stubborn',
    };
    await call(url, '/v1/tasks', task);
    await titled(url, 'at work');
  }

  const titled = (url: string, title: string) =>
    until(`the program is ${title}`, async () => {
      const task = (await (await call(url, '/v1/tasks/t')).json()) as { title: string };
      return task.title === title ? task : undefined;
    });

  async function claimed(url: string, agentProfileId: string, waitSeconds = 0): Promise<Claims> {
    const body = { workerId: 'w', agentProfileIds: [agentProfileId], waitSeconds };
    const answer = await call(url, '/v1/runs/claim', body);
    expect(answer.status).toBe(200);
    return (await answer.json()) as Claims;
  }

  /** Ten claims that wait: they were sent before a claim that is answered. */
  async function tenWaiting(url: string): Promise<readonly Promise<Claims>[]> {
    const waiting = Array.from({ length: 10 }, () => claimed(url, 'lonely', 60));
    const first = Promise.race(waiting.map(async (one) => one.then(() => 'answered')));
    expect(await Promise.race([first, claimed(url, 'lonely', 1)])).toEqual({ claims: [] });
    return waiting;
  }

  function storedRuns(server: ServerProcess) {
    return onDatabase(databaseUrl(name, database, server.directory), (outsider) =>
      outsider.query(`SELECT agent_profile_id AS agent, status, attempt FROM runs ORDER BY agent_profile_id`),
    );
  }

  it('AC-OFFICE-WORKER-008.1 ends ten claims that wait within a second, and itself', async () => {
    const { server, url } = await serving({ WORKER: 'off' });
    const waiting = await tenWaiting(url);
    const start = performance.now();
    server.kill('SIGTERM');
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 10 }, () => ({ claims: [] })));
    expect(performance.now() - start).toBeLessThan(SECOND_MS);
    expect(await server.exit).toMatchObject({ code: 0 });
    expect(performance.now() - start).toBeLessThan(3 * SECOND_MS);
  });

  it('AC-OFFICE-WORKER-008.1 AC-OFFICE-WORKER-008.2 is unready and claims nothing while it drains, tells its turns to end, and puts back whoever does not', async () => {
    const { server, url } = await serving({ DRAIN_SECONDS: '3' });
    await atWork(url);
    const waiting = await tenWaiting(url);
    const start = performance.now();
    server.kill('SIGTERM');
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 10 }, () => ({ claims: [] })));
    expect(performance.now() - start).toBeLessThan(SECOND_MS);
    expect((await call(url, '/health/ready')).status).toBe(503);
    expect((await call(url, '/health/live')).status).toBe(200);
    expect(await claimed(url, 'woken')).toEqual({ claims: [] });
    expect(await claimed(url, 'woken', 60)).toEqual({ claims: [] });
    await titled(url, 'told to end');
    expect(await server.exit).toMatchObject({ code: 0 });
    const drained = performance.now() - start;
    expect(drained).toBeGreaterThan(2.9 * SECOND_MS);
    expect(drained).toBeLessThan(8 * SECOND_MS);
    expect(await storedRuns(server)).toEqual([
      { agent: 'stubborn', status: 'queued', attempt: 0 },
      { agent: 'woken', status: 'queued', attempt: 0 },
    ]);
  });

  // SQLite has one writer: nobody can keep a sweep waiting and let others write.
  if (name === 'sqlite') return;

  it('AC-OFFICE-WORKER-008.1 ends claims that wait at once also when a sweep takes its time', async () => {
    const { server, url } = await serving({ WORKER: 'off' });
    const waiting = await tenWaiting(url);
    await onPostgres(database.url, async (outsider) => {
      await outsider.query('BEGIN');
      await outsider.query('LOCK TABLE decisions IN ACCESS EXCLUSIVE MODE');
      await onPostgres(database.url, (observer) => until('a sweep waits', () => lockWaits(observer)));
      const start = performance.now();
      server.kill('SIGTERM');
      await Promise.all(waiting);
      expect(performance.now() - start).toBeLessThan(SECOND_MS);
      await outsider.query('COMMIT');
    });
    expect(await server.exit).toMatchObject({ code: 0 });
  });
});

async function lockWaits(observer: Outsider): Promise<true | undefined> {
  const waiting = await observer.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return waiting.length > 0 ? true : undefined;
}
