import { EntitySchema } from 'typeorm';
import type { WakeReason } from '../../runs/wake-reason.js';
import { instant, integer, text } from '../../database/columns.js';

/** What a task's end can set off on other tasks. */
export type CascadeReason = Extract<WakeReason, 'task_blockers_resolved' | 'task_children_completed'>;

interface NoteFields {
  readonly id: string;
  readonly workspaceId: string;
  /** The task that the wake is about, `''` for none, and which of its assignments it tells of. */
  readonly taskId: string;
  readonly assignmentGeneration: number;
  readonly payload: string;
  readonly idempotencyKey: string | null;
  /** From when on somebody else may drive it: until then it is its driver's. */
  readonly dueAt: number;
  readonly createdAt: number;
}

/**
 * A wake that a mutation owes, written in the mutation's own transaction and struck by the transaction that decides
 * the wake: a crash in between leaves the note, and the sweep takes it up.
 */
export type WakeNote = NoteFields & { readonly agentProfileId: string; readonly reason: string };

/** Wakes that a mutation owes to whom it may concern, which is found when the note is carried out. */
export type CascadeNote = NoteFields & { readonly agentProfileId: null; readonly reason: CascadeReason };

export type Note = WakeNote | CascadeNote;

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
    dueAt: instant('due_at'),
    createdAt: instant('created_at'),
  },
  indices: [
    { name: 'wake_notes_due', columns: ['dueAt', 'id'] },
    { name: 'wake_notes_task', columns: ['taskId'] },
  ],
});
