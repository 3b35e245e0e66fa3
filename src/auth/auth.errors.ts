import { ReveilleError } from '../errors/reveille-error.js';

/** No token, or none that opens anything. Which of the two is nobody's business. */
export class UnauthenticatedError extends ReveilleError {
  readonly code = 'unauthenticated';

  constructor() {
    super('A valid bearer token is needed.');
  }
}
