import type { ErrorCode } from '../errors/reveille-error.js';
import type { Allowance } from './allowance.js';
import type { GateName, Verdict } from './admission-gate.js';
import type { QueueOutcome } from './queue-outcome.js';

/** One step, and what it read. */
export interface GateReport {
  readonly gate: GateName;
  /** `not_reached` when a step before it has stopped the wake. */
  readonly verdict: Verdict['kind'] | 'not_reached';
  readonly detail: GateDetail | null;
}

/** What a step read, as far as it read anything. */
export interface GateDetail {
  readonly runId?: string;
  readonly coalescedCount?: number;
  readonly allowance?: Allowance;
  /** Why the step could not judge. */
  readonly reason?: string;
  /** The error that the wake would be answered. */
  readonly error?: ErrorCode;
  readonly message?: string;
}

/** What would become of a wake, step by step. */
export interface Explanation {
  readonly outcome: QueueOutcome;
  /** Why it could not be decided: only with `none`. */
  readonly error: ErrorCode | null;
  readonly gates: readonly GateReport[];
}
