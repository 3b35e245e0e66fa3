/** How many tasks one tick of the recovery sweep starts. */
export const RECOVERIES_PER_TICK = 5;

/** Only tasks younger than this are started, in milliseconds: what nobody missed for longer is nobody's any more. */
export const RECOVERY_LOOK_BACK_MS = 24 * 60 * 60_000;

/** How long a task must have been left alone, in milliseconds: the mutation before may still be at work. */
export const UNTOUCHED_MS = 60_000;

/**
 * How long after each recovery of an assignment the next one may come, in milliseconds. The first comes as soon as the
 * task counts as forgotten; after the third none does.
 */
export const RECOVERY_GAPS_MS = [10 * 60_000, 60 * 60_000] as const;

/** How often one assignment is recovered. */
export const RECOVERIES_PER_GENERATION = RECOVERY_GAPS_MS.length + 1;
