import type { WakeReason } from '../../runs/wake-reason.js';
import type { Keyless } from '../../scheduler/keyless.js';

/** A wake as a producer or a reaction asks for it. The names in the payload are those of the wire. */
export interface ProducedWake<Reason extends WakeReason = WakeReason> {
  readonly agentProfileId: string;
  readonly reason: Reason;
  readonly payload: Readonly<Record<string, string>>;
  /** What makes a redelivery recognisable, or why nothing does. */
  readonly key: string | Keyless;
}

/** What only the producers make. */
export type AssignmentWake = ProducedWake<'task_assigned'>;
