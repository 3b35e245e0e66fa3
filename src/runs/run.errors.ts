import { ReveilleError } from '../errors/reveille-error.js';

/** The claim is not the caller's any more: it ended, was taken over, or never was. Nothing was changed. */
export class ClaimLostError extends ReveilleError {
  readonly code = 'claim_lost';

  constructor() {
    super('This claim does not hold the run.');
  }
}
