import type { OfficeModel } from './office-model.js';
import type { ModelTask } from './office-rules.js';

const MINUTE_MS = 60_000;
const PER_SWEEP = 5;
const LOOK_BACK_MS = 24 * 60 * MINUTE_MS;
const UNTOUCHED_MS = MINUTE_MS;

/** After the first recovery of an assignment, and after the second; after the third there is none. */
const GAPS_MS = [10 * MINUTE_MS, 60 * MINUTE_MS];

/** Which tasks a sweep starts because nobody else has, and how often it has done so for their assignment. */
export class OfficeRecoveries {
  private readonly done = new Map<ModelTask, { generation: number; count: number; at: number }>();

  due(office: OfficeModel, now: number): readonly ModelTask[] {
    const due = office.tasks.all
      .filter((task) => this.isForgotten(task, office, now) && this.isTimeFor(task, now))
      .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
      .slice(0, PER_SWEEP);
    for (const task of due)
      this.done.set(task, { generation: task.generation, count: this.countOf(task) + 1, at: now });
    return due;
  }

  private isForgotten(task: ModelTask, office: OfficeModel, now: number): boolean {
    const { id, kind, state, assignee, createdAt, updatedAt } = task;
    if (kind !== 'office' || state !== 'TODO' || assignee === null || office.isHeldBack(assignee))
      return false;
    if (createdAt <= now - LOOK_BACK_MS || updatedAt > now - UNTOUCHED_MS) return false;
    const isOwed = office.notes.some((note) => note.taskId === id && note.agent === assignee);
    return !office.runs.speakFor(id) && !isOwed;
  }

  private isTimeFor(task: ModelTask, now: number): boolean {
    const count = this.countOf(task);
    if (count === 0) return true;
    const gap = GAPS_MS[count - 1];
    return gap !== undefined && (this.done.get(task)?.at ?? 0) <= now - gap;
  }

  private countOf(task: ModelTask): number {
    const done = this.done.get(task);
    return done?.generation === task.generation ? done.count : 0;
  }
}
