import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { DatabaseName, TestDatabase } from './databases.js';
import { ADMIN_TOKEN } from './reveille.js';

const MAIN = resolve(__dirname, '../../dist/src/main.js');

/** Variables for the server; one that is undefined is left out. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How a server process ended. */
export interface Exit {
  readonly code: number | null;
  readonly errorOutput: string;
}

/** The built server, running as a process of its own in an empty directory. */
export class ServerProcess {
  readonly exit: Promise<Exit>;
  readonly logs: Record<string, unknown>[] = [];
  private readonly child: ChildProcess;
  private readonly served: Promise<string>;

  private constructor(
    readonly directory: string,
    environment: Environment,
  ) {
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, PORT: '0', ADMIN_TOKEN, ...environment };
    this.child = spawn(process.execPath, [MAIN], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.exit = exitOf(this.child);
    this.served = this.firstAddress();
  }

  /** Starts it, without waiting for anything. */
  static async spawn(environment: Environment = {}): Promise<ServerProcess> {
    return new ServerProcess(await mkdtemp(join(tmpdir(), 'reveille-process-')), environment);
  }

  /** Its address, once it serves. Fails when it ends without having served. */
  async url(): Promise<string> {
    const ended = this.exit.then(({ code, errorOutput }): never => {
      throw new Error(`The server ended with ${String(code)} before it served: ${errorOutput}`);
    });
    return Promise.race([this.served, ended]);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it however it is, and leaves nothing behind. */
  async discard(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
    await rm(this.directory, { recursive: true, force: true });
  }

  private firstAddress(): Promise<string> {
    const { stdout } = this.child;
    if (stdout === null) throw new Error('The server has no output.');
    return new Promise((resolvePromise) => {
      createInterface({ input: stdout }).on('line', (line) => {
        const log = JSON.parse(line) as Record<string, unknown>;
        this.logs.push(log);
        if (log['msg'] === 'Reveille serves') resolvePromise(String(log['url']));
      });
    });
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  let errorOutput = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errorOutput += chunk;
  });
  return new Promise((resolvePromise) => {
    child.once('close', (code) => {
      resolvePromise({ code, errorOutput });
    });
  });
}

/** Starts servers for the tests of the enclosing block, each of which ends its own. */
export function useServerProcesses(): (environment?: Environment) => Promise<ServerProcess> {
  const started: ServerProcess[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map((server) => server.discard()));
  });
  return async (environment) => {
    const server = await ServerProcess.spawn(environment);
    started.push(server);
    return server;
  };
}

/** Asks a server for something, with POST when there is a body. */
export function call(url: string, path: string, body?: object, token = ADMIN_TOKEN): Promise<Response> {
  return fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** What a server is told of a test's database. SQLite's file outlives the process in whose directory it was made. */
export function databaseUrl(name: DatabaseName, { url }: TestDatabase, directory = ''): string {
  return name === 'postgres' ? url : `sqlite:${join(directory, 'reveille.db')}`;
}
