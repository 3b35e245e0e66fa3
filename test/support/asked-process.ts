import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Another process that says once that it stands, and then answers one message at a time. */
export class AskedProcess {
  private constructor(private readonly child: ChildProcess) {}

  /** Starts a script of this folder. */
  static async start(script: string, args: readonly string[]): Promise<AskedProcess> {
    const child = fork(join(__dirname, script), args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    await messageOf(child);
    return new AskedProcess(child);
  }

  /** @throws Error with what it says, when it answers with an error. */
  async ask<Answer extends object>(question: object): Promise<Answer> {
    this.child.send(question);
    const answer = (await messageOf(this.child)) as Answer | { readonly error: string };
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }
}

/** @throws when the process ends instead of answering. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal }).then(() => {
        throw new Error('The process has ended without an answer.');
      }),
    ]);
  } finally {
    waiting.abort();
  }
}
