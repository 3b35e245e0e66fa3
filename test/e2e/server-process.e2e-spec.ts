import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type DatabaseName, type TestDatabase, freshDatabase, onEachDatabase } from '../support/databases.js';
import { type ServerProcess, call, databaseUrl, useServerProcesses } from '../support/server-process.js';

const start = useServerProcesses();

describe('the server as a process', () => {
  it('names every bad setting at once and does not start', async () => {
    const server = await start({
      PORT: 'eighty',
      DATABASE_URL: 'mysql://x',
      ADMIN_TOKEN: 'short',
      WORKER: 'maybe',
    });
    const { code, errorOutput } = await server.exit;
    expect(code).toBe(78);
    for (const name of ['PORT', 'DATABASE_URL', 'ADMIN_TOKEN', 'WORKER']) expect(errorOutput).toContain(name);
  });
});

describe('a connection on which nobody asks anything', () => {
  it('does not keep the server from stopping', async () => {
    const server = await start();
    const { hostname, port } = new URL(await server.url());
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    server.kill('SIGTERM');
    await once(socket, 'close');
    expect((await server.exit).code).toBe(0);
  });
});

describe('the first administrator', () => {
  it('finds a working token in a file that only its owner can read, and its path in the log', async () => {
    const server = await start({ ADMIN_TOKEN: undefined });
    const url = await server.url();
    const file = join(server.directory, 'data/admin-token');
    const token = (await readFile(file, 'utf8')).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await call(url, '/v1/me', undefined, token)).status).toBe(200);
    expect(JSON.stringify(server.logs)).toContain(file);
    expect(JSON.stringify(server.logs)).not.toContain(token);
  });
});

onEachDatabase('stopping the server', (name: DatabaseName) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await freshDatabase(name);
  });
  afterEach(() => database.drop());

  it('AC-OFFICE-WORKER-008.3 loses no acknowledged wake when it is told to stop under load, and exits with 0', async () => {
    const first = await start({ DATABASE_URL: databaseUrl(name, database), WORKER: 'off' });
    const url = await first.url();
    await call(url, '/v1/workspaces', { id: 'w', name: 'W' });
    await call(url, '/v1/agents', { id: 'a', workspaceId: 'w', name: 'A' });
    const acknowledged = await wakesUntilStopped(url, first);
    expect((await first.exit).code).toBe(0);
    expect(acknowledged.length).toBeGreaterThan(0);

    const second = await start({ DATABASE_URL: databaseUrl(name, database, first.directory), WORKER: 'off' });
    const restarted = await second.url();
    for (const id of acknowledged) expect((await call(restarted, `/v1/runs/${id}`)).status).toBe(200);
  });
});

/** Posts wakes from many callers at once, tells the server to stop in the midst of it, and answers what it confirmed. */
async function wakesUntilStopped(url: string, server: ServerProcess): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  let sent = 0;
  async function caller(): Promise<void> {
    for (;;) {
      const reason = `wake_${sent++}`;
      if (sent === 100) server.kill('SIGTERM');
      try {
        const answer = await call(url, '/v1/wakes', { agentProfileId: 'a', reason, payload: {} });
        if (answer.status !== 201) return;
        acknowledged.push(((await answer.json()) as { runId: string }).runId);
      } catch {
        // The server is gone: whatever was under way was not acknowledged.
        return;
      }
    }
  }
  await Promise.all(Array.from({ length: 16 }, caller));
  return acknowledged;
}
