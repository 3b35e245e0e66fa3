import { causesOf } from './causes.js';
import { ReveilleError } from './reveille-error.js';

/** The error that callers may branch on, however often it was wrapped on its way; undefined for a fault. */
export function knownErrorIn(error: unknown): ReveilleError | undefined {
  return causesOf(error).find((cause) => cause instanceof ReveilleError);
}
