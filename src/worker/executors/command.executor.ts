import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { Injectable } from '@nestjs/common';
import type { Agent } from '../../agents/agent.schema.js';
import { inherited } from '../../config/read-environment.js';
import { AgentAccount } from './agent-account.js';
import { ProcessGroup } from './process-group.js';
import { Tail } from './tail.js';

/** How long the output of a program that has ended is waited for, in milliseconds: whoever it left behind may hold it open. */
const OUTPUT_GRACE_MS = 1_000;

/** How much of an agent's output is kept, in characters. */
const OUTPUT_KEPT = 8_000;

/** What every agent's program may see of the server's environment. */
const ALWAYS_INHERITED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;

/** What an agent's program is given. */
export interface Launch {
  readonly agent: Agent;
  /** Written to its standard input as one JSON document. */
  readonly input: unknown;
  readonly environment: Readonly<Record<string, string>>;
}

/** How an agent's program ended. */
export interface ProcessResult {
  /** Null when a signal ended it, or when it could not be started. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be started. */
  readonly error: string | null;
  readonly output: string;
  readonly errorOutput: string;
}

/** A program at work. */
export interface RunningProcess {
  readonly ended: Promise<ProcessResult>;
  /** Ends it and what it has started: SIGTERM, then after the grace SIGKILL. */
  end(graceMs: number): void;
}

/** Runs an agent's own program: with its arguments as they are, never through a shell. */
@Injectable()
export class CommandExecutor {
  constructor(private readonly account: AgentAccount) {}

  start(launch: Launch): RunningProcess {
    try {
      return this.spawn(launch);
    } catch (error) {
      const nothing = { exitCode: null, signal: null, output: '', errorOutput: '' };
      return { ended: Promise.resolve({ ...nothing, error: String(error) }), end: () => undefined };
    }
  }

  private spawn({ agent, input, environment }: Launch): RunningProcess {
    const [program, ...args] = agent.command ?? [];
    if (program === undefined) throw new Error('The agent has no command.');
    const options: SpawnOptions = {
      cwd: agent.workingDirectory ?? undefined,
      env: { ...inherited([...ALWAYS_INHERITED, ...agent.env]), ...environment },
      detached: true,
      stdio: 'pipe',
      ...this.account.identity(),
    };
    const child = spawn(program, args, options);
    const group = new ProcessGroup(child);
    feed(child, input);
    return {
      ended: outcomeOf(child),
      end: (graceMs) => {
        group.end(graceMs);
      },
    };
  }
}

/** A program that does not read its input, or ends first, is not at fault. */
function feed({ stdin }: ChildProcess, input: unknown): void {
  stdin?.on('error', () => undefined);
  stdin?.end(JSON.stringify(input));
}

function outcomeOf(child: ChildProcess): Promise<ProcessResult> {
  const output = keepTail(child.stdout);
  const errorOutput = keepTail(child.stderr);
  return new Promise((resolve) => {
    const result = (ended: Pick<ProcessResult, 'exitCode' | 'signal' | 'error'>) => {
      resolve({ ...ended, output: output.text, errorOutput: errorOutput.text });
    };
    child.once('error', ({ message }) => {
      result({ exitCode: null, signal: null, error: message });
    });
    child.once('exit', (exitCode, signal) => {
      const finish = (): void => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        result({ exitCode, signal, error: null });
      };
      const late = setTimeout(finish, OUTPUT_GRACE_MS);
      child.once('close', () => {
        clearTimeout(late);
        finish();
      });
    });
  });
}

function keepTail(stream: ChildProcess['stdout']): Tail {
  const tail = new Tail(OUTPUT_KEPT);
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    tail.append(chunk);
  });
  return tail;
}
