import { ReveilleError } from '../errors/reveille-error.js';

/** A step of a workflow starts the task's agent, and the task has none. */
export class NobodyAssignedError extends ReveilleError {
  readonly code = 'agent_not_runnable';

  constructor() {
    super('The task has no assignee who could be woken.');
  }
}

/** The task would wait for itself. */
export class BlockerCycleError extends ReveilleError {
  readonly code = 'blocker_cycle';

  /** `path` begins and ends with the task, each waiting for the next. */
  constructor(readonly path: readonly string[]) {
    super(`The task would wait for itself: ${shortened(path).join(' → ')}.`);
  }

  override get members() {
    return { path: this.path };
  }
}

/** How many tasks of a path a sentence names; `path` has them all. */
const NAMED = 10;

function shortened(path: readonly string[]): readonly string[] {
  return path.length <= NAMED ? path : [...path.slice(0, NAMED - 2), '…', ...path.slice(-1)];
}
