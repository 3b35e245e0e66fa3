import type { ErrorCode } from '../errors/reveille-error.js';
import type { Allowance } from './allowance.js';
import type { GateName } from './admission-gate.js';
import type { QueueOutcome } from './queue-outcome.js';

/** What a step of admission says of a wake; `not_reached` when one before it has stopped the wake. */
export const GATE_VERDICTS = ['pass', 'stop', 'not_reached', 'not_in_scope', 'degraded'] as const;

/** One step, and what it read. */
export interface GateReport {
  readonly gate: GateName;
  readonly verdict: (typeof GATE_VERDICTS)[number];
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
