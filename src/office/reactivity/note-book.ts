import { Injectable } from '@nestjs/common';
import { Clock } from '../../clock/clock.js';
import { Ids } from '../../random/ids.js';
import { SchedulerService } from '../../scheduler/scheduler.service.js';
import type { Task } from '../../tasks/task.schema.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import type { Cascade, Owed } from './mutation.js';
import type { Note, WakeNote } from './note.schema.js';
import { NotesRepository } from './notes.repository.js';

/** How long a note is its driver's before it counts as abandoned, in milliseconds. */
export const LEASE_MS = 30_000;

/** Writes down what is owed, in the transaction that owes it. Whoever does drives the notes and has to carry them out. */
@Injectable()
export class NoteBook {
  constructor(
    private readonly notes: NotesRepository,
    private readonly scheduler: SchedulerService,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  async write(task: Task, owed: readonly Owed[]): Promise<readonly Note[]> {
    const notes: Note[] = [];
    for (const one of owed) {
      notes.push(
        await (one.agentProfileId === null ? this.writeCascade(task, one) : this.writeOne(task, one)),
      );
    }
    return notes;
  }

  async writeOne(task: Task, { agentProfileId, reason, payload, key }: ProducedWake): Promise<WakeNote> {
    const idempotencyKey = typeof key === 'string' ? key : null;
    const note = {
      ...this.blank(task),
      agentProfileId,
      reason,
      payload: JSON.stringify(payload),
      idempotencyKey,
    };
    await this.notes.insert(note);
    if (typeof key !== 'string') this.scheduler.reportKeyless(reason, key);
    return note;
  }

  private async writeCascade(task: Task, { agentProfileId, reason, payload }: Cascade): Promise<Note> {
    const idempotencyKey = null;
    const note = {
      ...this.blank(task),
      agentProfileId,
      reason,
      payload: JSON.stringify(payload),
      idempotencyKey,
    };
    await this.notes.insert(note);
    return note;
  }

  private blank({ id: taskId, workspaceId, assignmentGeneration }: Task) {
    const now = this.clock.now();
    const lease = { isParked: false, dueAt: now + LEASE_MS, createdAt: now };
    return { id: this.ids.next(), workspaceId, taskId, assignmentGeneration, ...lease };
  }
}
