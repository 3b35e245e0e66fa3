import { Injectable } from '@nestjs/common';
import type { Task } from '../tasks/task.schema.js';
import { NobodyAssignedError } from './office.errors.js';
import { ASSIGNMENT_PRODUCERS } from './producers/producers.js';
import type { StepTransition } from './producers/workflow-auto-start.producer.js';
import type { Reaction } from './reactivity/reaction.js';
import { Reactivity } from './reactivity/reactivity.service.js';

/** Starts the agent of a task whose workflow has moved it to a step that does so. */
@Injectable()
export class AutoStartService {
  constructor(private readonly reactivity: Reactivity) {}

  /** @throws NobodyAssignedError */
  async start(task: Task, transition: StepTransition): Promise<Reaction> {
    const assignee = task.assigneeAgentProfileId;
    if (assignee === null) throw new NobodyAssignedError();
    return this.reactivity.wake(task, ASSIGNMENT_PRODUCERS.workflowAutoStart(task, assignee, transition));
  }
}
