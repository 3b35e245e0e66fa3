import { Injectable } from '@nestjs/common';
import { CLOSED_TASK_STATES, type Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { Run } from './run.schema.js';
import { speaksToAssignee } from './wake-reason.js';

/** Tells whether a queued run has been overtaken by what happened to its task. */
@Injectable()
export class Staleness {
  constructor(private readonly tasks: TasksRepository) {}

  /** Why the run means nothing any more, or null. A task that is not ours is its host's business: never stale. */
  async reason(run: Run): Promise<string | null> {
    if (run.taskId === null || run.taskId === '') return null;
    const task = await this.tasks.find(run.taskId);
    if (task?.workspaceId !== run.workspaceId) return null;
    if (run.reason === 'task_review_requested') return this.reviewEnded(run, task.id);
    return speaksToAssignee(run.reason) ? assignmentEnded(run, task) : null;
  }

  private async reviewEnded(run: Run, taskId: string): Promise<string | null> {
    const held = (await this.tasks.participants(taskId)).some(
      ({ agentProfileId, role }) => agentProfileId === run.agentProfileId && role !== 'watcher',
    );
    return held ? null : 'task_role_removed';
  }
}

function assignmentEnded(run: Run, task: Task): string | null {
  if (task.assigneeAgentProfileId !== run.agentProfileId) return 'task_assignee_changed';
  return CLOSED_TASK_STATES.includes(task.state) ? 'task_closed' : null;
}
