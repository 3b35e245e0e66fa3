import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Decision } from '../../src/scheduler/decision.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';

type Answer = { readonly decisions: readonly Decision[] } | { readonly error: string };

/** Another process that serves the same database, built from the same sources. */
export class WakingProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start(databaseUrl: string): Promise<WakingProcess> {
    const script = join(__dirname, 'waking-process.child.mjs');
    const child = fork(script, [databaseUrl], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    await messageOf(child);
    return new WakingProcess(child);
  }

  /** Has it ask for all the wakes at once, at the given instant. */
  async wake(now: number, wakes: readonly WakeRequest[]): Promise<readonly Decision[]> {
    this.child.send({ now, wakes });
    const answer = (await messageOf(this.child)) as Answer;
    if ('error' in answer) throw new Error(answer.error);
    return answer.decisions;
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
