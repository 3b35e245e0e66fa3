import { viewAgent } from '../agents/agent-view.js';
import type { Claim, StopReason } from '../runs/claim.js';
import { viewRun, viewWake } from '../runs/run-view.js';
import type { Session } from '../sessions/session.schema.js';
import { viewSession } from '../sessions/session-view.js';
import type { ProcessResult } from './executors/command.executor.js';

/** Why a turn was made to end. */
export type TurnStop = StopReason | 'overtime' | 'unheard';

/** What is to be reported of a turn. */
export type TurnReport =
  | { readonly kind: 'finish'; readonly outputSummary: string }
  | { readonly kind: 'fail'; readonly error: string }
  | { readonly kind: 'release' };

/** Reads off a process's end what became of its run. A turn that was asked to stop and obeyed has finished. */
export function reportOf(result: ProcessResult, stop: TurnStop | null): TurnReport {
  if (stop === 'paused' || stop === 'unheard') return { kind: 'release' };
  if (result.exitCode === 0 && stop !== 'overtime') return { kind: 'finish', outputSummary: result.output };
  if (stop === 'draining') return { kind: 'release' };
  return {
    kind: 'fail',
    error: [reasonOf(result, stop), result.errorOutput].filter((line) => line !== '').join('\n'),
  };
}

function reasonOf({ error, exitCode, signal }: ProcessResult, stop: TurnStop | null): string {
  if (stop === 'overtime') return 'The turn took longer than the agent may run.';
  if (stop === 'interrupted') return 'The turn was interrupted and did not end by itself.';
  if (error !== null) return `The agent's program could not be started: ${error}`;
  return exitCode === null
    ? `The agent's program was ended by ${signal ?? 'a signal'}.`
    : `The agent's program ended with exit code ${exitCode}.`;
}

/** What an agent's program reads from its standard input. */
export function turnInput({ run, wakes, agent }: Claim, session: Session | null) {
  return {
    run: viewRun(run),
    wakes: wakes.map(viewWake),
    agent: viewAgent(agent, true),
    session: session === null ? null : viewSession(session),
  };
}

/** What an agent's program finds in its environment. */
export function turnEnvironment(claim: Claim, session: Session | null, url: string): Record<string, string> {
  const { run, agentToken } = claim;
  return {
    REVEILLE_URL: url,
    REVEILLE_TOKEN: agentToken,
    REVEILLE_RUN_ID: run.id,
    ...(run.taskId === null || run.taskId === '' ? {} : { REVEILLE_TASK_ID: run.taskId }),
    ...(session === null ? {} : { REVEILLE_SESSION_ID: session.id }),
  };
}
