import type { EntitySchema } from 'typeorm';
import { Transactions } from '../../src/database/transactions.js';
import { DecisionSchema } from '../../src/decisions/decision.schema.js';
import { EventLog } from '../../src/events/event-log.js';
import { EventSchema } from '../../src/events/event.schema.js';
import { NoteSchema } from '../../src/office/reactivity/note.schema.js';
import { RunSchema, RunWakeSchema } from '../../src/runs/run.schema.js';
import { SessionSchema } from '../../src/sessions/session.schema.js';
import { TaskCommentSchema } from '../../src/tasks/task-comment.schema.js';
import { TaskSchema } from '../../src/tasks/task.schema.js';
import type { TestReveille } from '../support/reveille.js';

/** Every row of a workspace that a mutation, or what comes of it, could write. */
export async function storedIn(reveille: TestReveille, workspaceId: string) {
  await reveille.get(EventLog).latest();
  const rowsOf = async <T extends { readonly id: string }>(schema: EntitySchema<T>): Promise<readonly T[]> =>
    reveille
      .get(Transactions)
      .reading()
      .createQueryBuilder(schema, 'row')
      .where('row.workspaceId = :workspaceId', { workspaceId })
      .orderBy('row.id')
      .getMany();
  return {
    tasks: await rowsOf(TaskSchema),
    comments: await rowsOf(TaskCommentSchema),
    events: await rowsOf(EventSchema),
    notes: await rowsOf(NoteSchema),
    runs: await rowsOf(RunSchema),
    ledger: await rowsOf(RunWakeSchema),
    decisions: await rowsOf(DecisionSchema),
    sessions: await rowsOf(SessionSchema),
  };
}

export type Stored = Awaited<ReturnType<typeof storedIn>>;
