import { ALLOWANCE_LIMIT, ALLOWANCE_WINDOW_MS } from './admission-limits.js';

/** How a task's allowance stood when a wake in its scope was judged. */
export interface Allowance {
  readonly limit: number;
  readonly windowSeconds: number;
  /** How many had been admitted in the window before this wake; null when that could not be counted. */
  readonly observed: number | null;
  /** On a refusal, the first instant at which a wake would be admitted. */
  readonly retryAt: number | null;
}

/** The allowance with `observed` wakes in the window. */
export function allowanceOf(observed: number | null, retryAt: number | null = null): Allowance {
  return { limit: ALLOWANCE_LIMIT, windowSeconds: ALLOWANCE_WINDOW_MS / 1000, observed, retryAt };
}
