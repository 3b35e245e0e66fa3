/** A stretch of time after `start`, up to and including `end`, in milliseconds since 1970. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** The window of the given length that ends now: what is exactly that old is outside (AC-OFFICE-ASSIGN-RATE-001.11). */
export function windowEndingAt(end: number, lengthMs: number): Window {
  return { start: end - lengthMs, end };
}
