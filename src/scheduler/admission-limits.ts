/**
 * The numbers of admission, declared once (AC-OFFICE-ASSIGN-RATE-002.6). None can be configured: a limit that an
 * operator can lift is a limit that an agent can talk an operator into lifting.
 */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How many agent-made assignment wakes one task may have admitted in any {@link ALLOWANCE_WINDOW_MS}: N, at least 1. */
export const ALLOWANCE_LIMIT = 5;

/** The rolling window of the allowance: W. */
export const ALLOWANCE_WINDOW_MS = 10 * MINUTE_MS;

/** How young a queued run must be for an equal wake to be merged into it. */
export const COALESCING_WINDOW_MS = 5 * SECOND_MS;

/** How far back a key is looked up; beyond it the unique index alone decides. */
export const IDEMPOTENCY_WINDOW_MS = 24 * HOUR_MS;

/** Keys of comments: each comment is heard by itself, so a wake keyed by one neither merges nor is merged into. */
export const COMMENT_KEY_PREFIX = 'task_comment:';
