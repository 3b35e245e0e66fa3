import { resetIn } from './provider-reset.js';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How long a run waits after its first, second, … failure, in milliseconds. There are as many retries as delays. */
export const RETRY_DELAYS_MS = [2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS] as const;

/** By how much of itself a delay may grow, so that what failed together does not come back together. */
export const RETRY_JITTER = 0.25;

/** How long after the instant at which a provider says it is there again, in milliseconds: its clock is not ours. */
export const RESET_GRACE_MS = 30 * SECOND_MS;

/**
 * How far ahead a provider's instant is believed, in milliseconds. The longest window that providers count in is a week,
 * and none ends later than that from now: what is further off is another number, or a quota for which people should
 * hear of four failures rather than of none for a month.
 */
export const RESET_HORIZON_MS = 7 * DAY_MS;

/** How old a request may be for which a failed run is still tried again, in milliseconds, its pauses not counted. */
export const TOO_OLD_MS = DAY_MS;

/** What a retry waits for: the table's delay, an instant that the provider named, or nothing, because a person asked. */
export const RETRY_CAUSES = ['backoff', 'provider_reset', 'by_hand'] as const;

export type RetryCause = (typeof RETRY_CAUSES)[number];

/** When a run is tried again, and why then. */
export interface RetryPlan {
  readonly at: number;
  readonly cause: RetryCause;
}

/**
 * When a run that has failed is tried again; null when it was tried often enough. `chance` is evenly spread from 0 up to
 * but not including 1.
 */
export function planRetry(
  { retryCount, error }: { readonly retryCount: number; readonly error: string },
  now: number,
  chance: number,
): RetryPlan | null {
  const delay = RETRY_DELAYS_MS[retryCount];
  if (delay === undefined) return null;
  const reset = resetIn(error, now, RESET_HORIZON_MS);
  if (reset !== null) return { at: reset + RESET_GRACE_MS, cause: 'provider_reset' };
  return { at: now + delay + Math.floor(delay * RETRY_JITTER * chance), cause: 'backoff' };
}

/** Whether nobody waits any more for what was requested then. Exactly {@link TOO_OLD_MS} is not too old. */
export function isTooOld(requestedAt: number, now: number, pausedMs: number): boolean {
  return now - requestedAt - pausedMs > TOO_OLD_MS;
}
