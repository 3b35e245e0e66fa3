import type { WakeReason } from '../../runs/wake-reason.js';

/** A wake as a producer asks for it. The names in the payload are those of the wire. */
export interface ProducedWake {
  readonly agentProfileId: string;
  readonly reason: WakeReason;
  readonly payload: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | null;
}
