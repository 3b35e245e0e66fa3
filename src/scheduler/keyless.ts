/**
 * Why a wake has no key: none is meant to be, or none could be derived. The producer says so; an empty key alone tells
 * nobody anything (RUN-DEDUP-4). `detail` tells unresolved producers apart in the log, never in a label.
 */
export type Keyless =
  { readonly cause: 'by_design' } | { readonly cause: 'unresolved'; readonly detail: 'zero_step_transition' };

export const KEYLESS_CAUSES = ['unresolved', 'by_design'] as const satisfies readonly Keyless['cause'][];
