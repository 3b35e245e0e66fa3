import type { ErrorCode } from '../../errors/reveille-error.js';
import type { Allowance } from '../../scheduler/allowance.js';
import type { QueueOutcome } from '../../scheduler/queue-outcome.js';

/** What became of one wake that a mutation asked for. */
export interface Reaction {
  readonly reason: string;
  readonly agentProfileId: string;
  /** `none` when it could not be decided here: it is not lost, and either tried again or decided by a sweep just now. */
  readonly outcome: QueueOutcome;
  readonly runId: string | null;
  readonly allowance: Allowance | null;
  /** Why it could not be decided. */
  readonly error: ErrorCode | null;
}
