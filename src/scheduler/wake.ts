import { storable } from '../database/storable.js';
import { type PayloadFacts, readPayload } from './wake-payload.js';

/** A request that an agent be woken, as callers put it. */
export interface WakeRequest {
  readonly agentProfileId: string;
  /** Why: one of ours, or one that somebody invented. */
  readonly reason: string;
  /** Encoded already, whatever it holds; kept as received. */
  readonly payload: string;
  /** Suppresses a redelivery of the same occurrence; null or empty for none. */
  readonly idempotencyKey?: string | null | undefined;
  /** Whose key it is: an agent's keys and everybody else's never meet. Default: everybody else's. */
  readonly keyScope?: string | undefined;
}

/** A wake under judgement. */
export interface Wake {
  readonly agentProfileId: string;
  readonly reason: string;
  readonly payload: string;
  readonly facts: PayloadFacts;
  readonly idempotencyKey: string | null;
  readonly keyScope: string;
  /** The one instant of this wake: the end of every window it is judged by, and its row's `requested_at`. */
  readonly requestedAt: number;
}

/** The wake that a request asks for, at the instant at which its turn has come. */
export function wakeOf(request: WakeRequest, requestedAt: number): Wake {
  const key = request.idempotencyKey ?? '';
  return {
    agentProfileId: request.agentProfileId,
    reason: request.reason,
    payload: storable(request.payload),
    facts: readPayload(request.payload),
    idempotencyKey: key === '' ? null : key,
    keyScope: request.keyScope ?? '',
    requestedAt,
  };
}
