import type { FactoryProvider, Type } from '@nestjs/common';
import type { AdmissionGate } from './admission-gate.js';
import { AgentStatusGate } from './gates/agent-status.gate.js';
import { AssignmentAllowanceGate } from './gates/assignment-allowance.gate.js';
import { CoalescingGate } from './gates/coalescing.gate.js';
import { IdempotencyGate } from './gates/idempotency.gate.js';
import { WorkspacePauseGate } from './gates/workspace-pause.gate.js';

/**
 * THE ORDER of admission. What passes all of them is inserted, the sixth and last step.
 *
 * A wake that one gate stops is never seen by those below it. That is why a redelivered or merged wake can neither
 * use up the allowance nor be refused by it (AC-OFFICE-ASSIGN-RATE-001.5), why "admitted" means exactly "a row was
 * inserted", and why nothing at all gets past a kill switch.
 */
export const ADMISSION_ORDER: readonly Type<AdmissionGate>[] = [
  AgentStatusGate,
  WorkspacePauseGate,
  IdempotencyGate,
  CoalescingGate,
  AssignmentAllowanceGate,
];

/** The injection token of the gates in force, in order. */
export const ADMISSION_GATES = Symbol('ADMISSION_GATES');

export const admissionGates: FactoryProvider<readonly AdmissionGate[]> = {
  provide: ADMISSION_GATES,
  inject: [...ADMISSION_ORDER],
  useFactory: (...gates: AdmissionGate[]) => gates,
};
