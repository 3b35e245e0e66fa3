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

/** The task that a wake is about, if only by an empty id, and which of its assignments it tells of. */
type NoteSubject = Pick<Task, 'id' | 'workspaceId' | 'assignmentGeneration'>;

/** Writes down what is owed, in the transaction that owes it. Whoever does drives the notes and has to carry them out. */
@Injectable()
export class NoteBook {
  constructor(
    private readonly notes: NotesRepository,
    private readonly scheduler: SchedulerService,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  async write(task: NoteSubject, owed: readonly Owed[]): Promise<readonly Note[]> {
    const notes: Note[] = [];
    for (const one of owed) {
      notes.push(await (one.agentProfileId === null ? this.insert(task, one) : this.writeOne(task, one)));
    }
    return notes;
  }

  /** A wake that its producer has no key for is counted with it. */
  async writeOne(task: NoteSubject, { key, ...wake }: ProducedWake): Promise<WakeNote> {
    if (typeof key === 'string') return this.insert(task, wake, key);
    this.scheduler.reportKeyless(wake.reason, key);
    return this.insert(task, wake);
  }

  private async insert<Owes extends Cascade | Omit<ProducedWake, 'key'>>(
    { id: taskId, workspaceId, assignmentGeneration }: NoteSubject,
    owed: Owes,
    idempotencyKey: string | null = null,
  ) {
    const now = this.clock.now();
    const subject = { id: this.ids.next(), workspaceId, taskId, assignmentGeneration };
    const payload = JSON.stringify(owed.payload);
    const note = { ...owed, ...subject, payload, idempotencyKey, dueAt: now + LEASE_MS, createdAt: now };
    await this.notes.insert(note);
    return note;
  }
}
