import { EntitySchema } from 'typeorm';
import { boolean, instant, integer, text } from '../../database/columns.js';

/**
 * A wake that a mutation owes, written in the mutation's own transaction and struck by the transaction that decides
 * the wake: a crash in between leaves the note, and the sweep takes it up.
 */
export interface Note {
  readonly id: string;
  readonly workspaceId: string;
  /** The task that the wake is about, and which of its assignments it tells of. */
  readonly taskId: string;
  readonly assignmentGeneration: number;
  /** Null for a cascade: whom it wakes is found when it is carried out. */
  readonly agentProfileId: string | null;
  readonly reason: string;
  readonly payload: string;
  readonly idempotencyKey: string | null;
  /** Held back by a paused workspace or an agent that does not run, until that has passed. */
  readonly isParked: boolean;
  /** From when on somebody else may drive it: until then it is its driver's. */
  readonly dueAt: number;
  readonly createdAt: number;
}

/** A note that says whom it wakes. */
export type WakeNote = Note & { readonly agentProfileId: string };

export const NoteSchema = new EntitySchema<Note>({
  name: 'wake_notes',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    taskId: text('task_id'),
    assignmentGeneration: integer('assignment_generation'),
    agentProfileId: text('agent_profile_id', { nullable: true }),
    reason: text('reason'),
    payload: text('payload'),
    idempotencyKey: text('idempotency_key', { nullable: true }),
    isParked: boolean('is_parked'),
    dueAt: instant('due_at'),
    createdAt: instant('created_at'),
  },
  indices: [
    { name: 'wake_notes_due', columns: ['dueAt', 'id'] },
    { name: 'wake_notes_task', columns: ['taskId'] },
  ],
});
