import type { Task } from '../../tasks/task.schema.js';
import { autoStartKey } from '../dedup-keys.js';
import type { AssignmentWake } from './produced-wake.js';

/** A move to a workflow's step, which starts the step's agent by itself. */
export interface StepTransition {
  readonly stepId: string;
  /** Tells this move to the step from another; null when the workflow does not know. */
  readonly stepTransitionId: string | null;
}

/** A task was moved to a step that starts its agent. Without the transition's id two moves could not be told apart. */
export function wakeOnAutoStart(task: Task, assignee: string, transition: StepTransition): AssignmentWake {
  const { stepId, stepTransitionId } = transition;
  return {
    agentProfileId: assignee,
    reason: 'task_assigned',
    payload: { task_id: task.id, workflow_step_id: stepId },
    key:
      stepTransitionId === null
        ? { cause: 'unresolved', detail: 'zero_step_transition' }
        : autoStartKey(task.id, assignee, stepId, stepTransitionId),
  };
}
