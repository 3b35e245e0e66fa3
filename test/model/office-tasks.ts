import type { ParticipantRole } from '../../src/tasks/task.schema.js';
import type { ModelRun } from './admission-model.js';
import { type ModelTask, isClosed } from './office-rules.js';

/** These wakes mean something only while the woken agent is the assignee of a task that is open. */
export const TO_THE_ASSIGNEE: readonly string[] = [
  'task_assigned',
  'task_comment',
  'task_unblocked',
  'task_reopened',
  'task_reopened_via_comment',
  'task_blockers_resolved',
  'task_children_completed',
];

/** The tasks, who takes part in them and which waits for which. */
export class OfficeTasks {
  readonly all: ModelTask[] = [];

  find(id: string | null): ModelTask | undefined {
    return this.all.find((task) => task.id === id);
  }

  get(id: string): ModelTask {
    const task = this.find(id);
    if (task === undefined) throw new Error('There is no such task.');
    return task;
  }

  setRole(id: string, agent: number, role: ParticipantRole): void {
    this.clearRole(id, agent, role);
    const task = this.get(id);
    task.participants = [...task.participants, { agent, role }];
  }

  /** Whether the agent takes part in the work. */
  isSeated(id: string, agent: number): boolean {
    const { assignee, participants } = this.get(id);
    const isReviewing = participants.some((held) => held.agent === agent && held.role !== 'watcher');
    return assignee === agent || isReviewing;
  }

  /** One role, or all of them when it is null. */
  clearRole(id: string, agent: number, role: ParticipantRole | null): void {
    const task = this.get(id);
    task.participants = task.participants.filter(
      (held) => held.agent !== agent || (role !== null && held.role !== role),
    );
  }

  /** False when the task would wait for itself. */
  block(id: string, blockerId: string): boolean {
    if (this.waitsFor(blockerId, id)) return false;
    const task = this.get(id);
    task.blockers = [...new Set([...task.blockers, blockerId])];
    return true;
  }

  unblock(id: string, blockerId: string): void {
    const task = this.get(id);
    task.blockers = task.blockers.filter((blocker) => blocker !== blockerId);
  }

  /** Those that wait for the task and for nothing that is open, by their ids. */
  freedBy(id: string): readonly ModelTask[] {
    return this.all
      .filter(({ blockers }) => blockers.includes(id) && blockers.every((other) => isClosed(this.get(other))))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** Why a wake means nothing any more, or null. */
  staleness({ agent, reason, taskId }: Pick<ModelRun, 'agent' | 'reason' | 'taskId'>): string | null {
    const task = this.find(taskId);
    if (task === undefined) return null;
    if (reason === 'task_review_requested') {
      const isAsked = task.participants.some((held) => held.agent === agent && held.role !== 'watcher');
      return isAsked ? null : 'task_role_removed';
    }
    if (!TO_THE_ASSIGNEE.includes(reason)) return null;
    if (task.assignee !== agent) return 'task_assignee_changed';
    return isClosed(task) ? 'task_closed' : null;
  }

  private waitsFor(id: string, other: string): boolean {
    return id === other || this.get(id).blockers.some((blocker) => this.waitsFor(blocker, other));
  }
}
