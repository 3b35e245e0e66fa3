import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Actor } from '../../src/auth/principal.js';
import type { MutationInput } from '../../src/office/task-mutations.js';

/** The statements of a mutation and of the numbering of its events, each in the order in which they were sent. */
export interface Sent {
  readonly mutation: readonly string[];
  readonly numbering: readonly string[];
}

/** Where a process dies. */
export interface Death {
  readonly strand: keyof Sent;
  /** Counted from 1. */
  readonly statement: number;
  /** Before it is sent, as soon as it is, or when it has been answered and nobody knows yet. */
  readonly moment: 'before' | 'during' | 'after';
}

/** What a process is to do, and of what it dies; null when it lives. */
export interface Order {
  readonly databaseUrl: string;
  readonly now: number;
  readonly taskId: string;
  readonly changes: MutationInput;
  readonly actor: Actor;
  readonly death: Death | null;
}

/** A server of its own that does one thing, and may be killed in the midst of it. */
class MortalProcess {
  private readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
  private readonly ready: Promise<unknown>;
  private lastWords = '';

  private constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    this.ready = this.message();
    // Heard of by whoever orders something of it.
    this.ready.catch(() => undefined);
    child.stdout?.setEncoding('utf8').on('data', (words: string) => {
      this.lastWords += words;
    });
  }

  static start(): MortalProcess {
    const script = join(__dirname, 'mortal-process.child.mjs');
    return new MortalProcess(fork(script, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }));
  }

  /** Has it do something and live. */
  async live(order: Omit<Order, 'death'>): Promise<Sent> {
    await this.send({ ...order, death: null });
    const { sent } = (await this.message()) as { readonly sent: Sent };
    await this.ended;
    return sent;
  }

  /**
   * Has it do something and die, and answers the statement at which it did.
   *
   * @throws when it ends in any other way.
   */
  async die(order: Omit<Order, 'death'>, death: Death): Promise<string> {
    await this.send({ ...order, death });
    const [code, signal] = await this.ended;
    if (signal !== 'SIGKILL')
      throw new Error(`It was to be killed, and ended with ${String(code ?? signal)}.`);
    return this.lastWords;
  }

  async discard(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  private async send(order: Order): Promise<void> {
    await this.ready;
    this.child.send(order);
  }

  /** @throws when the process ends instead of saying anything. */
  private async message(): Promise<unknown> {
    const ended = this.ended.then(() => {
      throw new Error('The process has ended without an answer.');
    });
    return Promise.race([once(this.child, 'message').then(([message]) => message as unknown), ended]);
  }
}

/** Processes that load while others die, so that nobody waits for them. */
export class MortalProcesses {
  private readonly waiting: MortalProcess[] = [];

  constructor(private readonly ahead: number) {}

  /** One that has done nothing yet; the next ones begin to load. */
  next(): MortalProcess {
    while (this.waiting.length <= this.ahead) this.waiting.push(MortalProcess.start());
    const process = this.waiting.shift();
    if (process === undefined) throw new Error('No process was started.');
    return process;
  }

  async discard(): Promise<void> {
    await Promise.all(this.waiting.splice(0).map((process) => process.discard()));
  }
}
