import type { Run } from '../runs/run.schema.js';
import type { Allowance } from './allowance.js';
import type { WakeFacts } from './wake-facts.js';
import type { Wake } from './wake.js';

/** The steps of admission by the names that callers see, in the order in which they are taken. */
export const GATE_NAMES = [
  'agent_status',
  'workspace_pause',
  'idempotency',
  'coalescing',
  'assignment_allowance',
  'insert',
] as const;

export type GateName = (typeof GATE_NAMES)[number];

/** Why the allowance refused, or let a wake through that it could not judge: the closed set of its counter. */
export const ALLOWANCE_REASONS = ['allowance_exhausted', 'count_read_failed', 'task_unattributed'] as const;

export type AllowanceReason = (typeof ALLOWANCE_REASONS)[number];

/** A wake that ends at a gate. */
export type Stop =
  | { readonly outcome: 'deduped'; readonly run: Run }
  | { readonly outcome: 'coalesced'; readonly into: Run }
  | { readonly outcome: 'rate_limited'; readonly allowance: Allowance };

/** What a gate says of a wake. */
export type Verdict =
  | { readonly kind: 'pass'; readonly allowance?: Allowance }
  | { readonly kind: 'not_in_scope' }
  /** Let through without having been judged. */
  | {
      readonly kind: 'degraded';
      readonly reason: Exclude<AllowanceReason, 'allowance_exhausted'>;
      readonly allowance: Allowance;
      readonly error?: unknown;
    }
  | { readonly kind: 'stop'; readonly stop: Stop };

/** A wake that a gate let through without having judged it. */
export type Degraded = Extract<Verdict, { kind: 'degraded' }>;

interface Gate {
  readonly name: GateName;
  /**
   * Answers one question about one wake from the facts that it asks for.
   *
   * @throws a ReveilleError where a negative answer is an error to the caller.
   */
  judge(wake: Wake, facts: WakeFacts): Promise<Verdict>;
}

/** The failed read is the caller's error: letting the wake through could run it twice. */
interface RaisingGate extends Gate {
  readonly onReadFailure: 'raise';
}

/** Nothing passes while it cannot be told: this is a kill switch. */
interface ClosedGate extends Gate {
  readonly onReadFailure: 'closed';
  closed(cause: unknown): Error;
}

/**
 * The wake passes: a bounded cost is better than a wake that is lost. Only a read that was cut short, because the database
 * went away, is the caller's error here too.
 */
interface OpenGate extends Gate {
  readonly onReadFailure: 'open';
  open(cause: unknown): Verdict;
}

/** One question of admission. What it does when its own read fails is declared, so that it can be seen and tested. */
export type AdmissionGate = RaisingGate | ClosedGate | OpenGate;
