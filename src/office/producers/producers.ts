import { wakeOnAssignment } from './assignment-mutation.producer.js';
import { wakeOnOnboarding } from './onboarding.producer.js';
import { wakeOnRecovery } from './recovery-sweep.producer.js';
import { wakeOnCreation } from './task-lifecycle.producer.js';
import { wakeOnAutoStart } from './workflow-auto-start.producer.js';

/**
 * THE PRODUCERS: every place that a `task_assigned` wake comes from.
 *
 * Only the first names an actor in its payload, and the allowance binds by the payload (AC-OFFICE-ASSIGN-RATE-001.12):
 * the others wake a task just created, never started or moved by its workflow, and let no agent wake another in a loop.
 */
export const ASSIGNMENT_PRODUCERS = {
  assignmentMutation: wakeOnAssignment,
  taskLifecycle: wakeOnCreation,
  onboarding: wakeOnOnboarding,
  recoverySweep: wakeOnRecovery,
  workflowAutoStart: wakeOnAutoStart,
} as const;
