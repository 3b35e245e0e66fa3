import { Injectable } from '@nestjs/common';
import type { Task } from '../tasks/task.schema.js';
import { SEATED_ROLES } from '../tasks/task-seats.js';
import { isClosed } from '../tasks/task-status.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { Run } from './run.schema.js';
import { speaksToAssignee } from './wake-reason.js';

/** What has to be known of a run, or of a wake that is to become one. */
type Addressed = Pick<Run, 'workspaceId' | 'taskId' | 'reason' | 'agentProfileId'>;

/** Tells whether a wake has been overtaken by what happened to its task. */
@Injectable()
export class Staleness {
  constructor(private readonly tasks: TasksRepository) {}

  /** Why the wake means nothing any more, or null. A task that is not ours is its host's business: never stale. */
  async reason(wake: Addressed): Promise<string | null> {
    if (wake.taskId === null || wake.taskId === '') return null;
    const task = await this.tasks.find(wake.taskId);
    if (task?.workspaceId !== wake.workspaceId) return null;
    if (wake.reason === 'task_review_requested') return this.reviewEnded(wake, task.id);
    return speaksToAssignee(wake.reason) ? assignmentEnded(wake, task) : null;
  }

  private async reviewEnded(wake: Addressed, taskId: string): Promise<string | null> {
    const held = (await this.tasks.participants(taskId)).some(
      ({ agentProfileId, role }) => agentProfileId === wake.agentProfileId && SEATED_ROLES.includes(role),
    );
    return held ? null : 'task_role_removed';
  }
}

function assignmentEnded(wake: Addressed, task: Task): string | null {
  if (task.assigneeAgentProfileId !== wake.agentProfileId) return 'task_assignee_changed';
  return isClosed(task) ? 'task_closed' : null;
}
