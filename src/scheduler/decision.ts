import type { RunStatus } from '../runs/run.schema.js';
import type { Allowance } from './allowance.js';
import type { DecidedOutcome } from './queue-outcome.js';

/** What was decided about a wake. */
export interface Decision {
  readonly outcome: DecidedOutcome;
  /** Whether the wake made a run of its own: only when `queued`. */
  readonly admitted: boolean;
  /** The new run, the one merged into, or the one that has the key; null when refused. */
  readonly runId: string | null;
  readonly runStatus: RunStatus | null;
  /** The step that stopped it; null when `queued`. */
  readonly gate: string | null;
  /** Null when the allowance was not asked or the wake is out of its scope. */
  readonly allowance: Allowance | null;
}
