import { EntitySchema } from 'typeorm';
import { instant, integer, text } from '../../database/columns.js';

/**
 * A wake that a mutation owes, written in the mutation's own transaction and struck by the transaction that decides
 * the wake: a crash in between leaves the note, and the sweep takes it up.
 */
export interface Note {
  readonly id: string;
  readonly workspaceId: string;
  /** The task that the mutation changed, and which of its assignments the wake tells of. */
  readonly taskId: string;
  readonly assignmentGeneration: number;
  readonly agentProfileId: string;
  readonly reason: string;
  readonly payload: string;
  readonly idempotencyKey: string | null;
  readonly createdAt: number;
}

export const NoteSchema = new EntitySchema<Note>({
  name: 'wake_notes',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    taskId: text('task_id'),
    assignmentGeneration: integer('assignment_generation'),
    agentProfileId: text('agent_profile_id'),
    reason: text('reason'),
    payload: text('payload'),
    idempotencyKey: text('idempotency_key', { nullable: true }),
    createdAt: instant('created_at'),
  },
  indices: [{ name: 'wake_notes_oldest', columns: ['createdAt', 'id'] }],
});
