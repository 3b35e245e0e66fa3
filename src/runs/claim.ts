import type { Agent } from '../agents/agent.schema.js';
import type { ClaimScope } from './claims.repository.js';
import type { Run, RunWake } from './run.schema.js';

/** How long a claim lasts without a heartbeat when the claimer does not say, in seconds. */
export const DEFAULT_LEASE_SECONDS = 30;

/** How often a run is started whose worker each time is lost, before it is given up. */
export const WORKER_LOST_LIMIT = 5;

/** How many of a run's wakes are shown with it, the oldest. */
export const WAKES_LIMIT = 100;

export interface ClaimRequest extends ClaimScope {
  /** What the worker calls itself. */
  readonly workerId: string;
  /** The bearer token the claim is bound to. */
  readonly bearerTokenId: string;
  /** 1 to 100. Default 1. */
  readonly max?: number | undefined;
  readonly leaseSeconds?: number | undefined;
  /** How long to wait, in seconds, when there is nothing to claim: 0 to 60. Default 0. */
  readonly waitSeconds?: number | undefined;
}

/** A run that a worker holds, and everything it needs to do it. */
export interface Claim {
  readonly run: Run;
  /** The wakes that the run answers, oldest first, at most {@link WAKES_LIMIT}. */
  readonly wakes: readonly ClaimedWake[];
  readonly agent: Agent;
  /** Opens the run for its holder, and only together with the bearer token that claimed it. */
  readonly claimToken: string;
  /** Lets the agent act as itself inside this run, and dies with the claim. */
  readonly agentToken: string;
  readonly leaseExpiresAt: number;
}

export type ClaimedWake = Pick<
  RunWake,
  'payload' | 'actorType' | 'actorId' | 'idempotencyKey' | 'requestedAt'
>;

/** What a holder shows with each report. */
export interface ClaimReport {
  readonly claimToken: string;
  readonly bearerTokenId: string;
}

/** Why a worker is told to stop a turn. */
export type StopReason = 'cancelled' | 'paused' | 'interrupted' | 'draining';

export interface Heartbeat {
  readonly leaseExpiresAt: number;
  readonly stop: boolean;
  readonly stopReason: StopReason | null;
}
