import { ReveilleError } from '../errors/reveille-error.js';

/** A task and an agent: together they name one lasting conversation. */
export interface SessionPair {
  readonly taskId: string;
  readonly agentProfileId: string;
}

/** The pair has a live session already: read it again and reuse it. Raised by the guard alone, never for a fault. */
export class OfficeSessionRaceConflict extends ReveilleError {
  readonly code = 'session_conflict';

  constructor(readonly pair: SessionPair) {
    super('The task and agent already have a live session.');
  }
}
