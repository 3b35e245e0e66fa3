/**
 * What became of a wake. `none`: no enqueue was attempted, or it failed; every other outcome is a decision and never
 * an error, and only `queued` made a run.
 */
export const QUEUE_OUTCOMES = ['queued', 'coalesced', 'deduped', 'rate_limited', 'none'] as const;

export type QueueOutcome = (typeof QUEUE_OUTCOMES)[number];

/** The outcomes that a decision can have. */
export type DecidedOutcome = Exclude<QueueOutcome, 'none'>;
