import type { Agent } from '../agents/agent.schema.js';
import type { Run } from '../runs/run.schema.js';
import type { WorkspacePause } from '../workspaces/workspace.schema.js';

/** A fact could not be read. The gate that asked for it says what that means. */
export class FactReadError extends Error {
  /** Whether the database went away under the reading, as it does at a shutdown. */
  readonly isCutShort: boolean;

  constructor(fact: string, { cause, isCutShort }: { cause: unknown; isCutShort: boolean }) {
    super(`The ${fact} could not be read.`, { cause });
    this.isCutShort = isCutShort;
  }
}

/**
 * What gates may ask about a wake. Gates judge facts; how those are read is not their business. Each question throws a
 * {@link FactReadError} when it cannot be answered.
 */
export interface WakeFacts {
  /** The agent to be woken; null when there is none. Read once for a wake. */
  agent(): Promise<Agent | null>;
  /** The unreleased pause of the agent's own workspace. */
  pause(): Promise<WorkspacePause | null>;
  /** The run that has the wake's key, as its own or merged away, inside the look-back. */
  keyHolder(): Promise<Run | null>;
  /** The newest queued run that the wake may be merged into. */
  mergeTarget(): Promise<Run | null>;
  /** The instants of the agent-made assignment wakes of the wake's task inside the allowance's window, newest first. */
  admittedAssignments(): Promise<readonly number[]>;
}
