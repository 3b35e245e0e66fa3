import { Injectable } from '@nestjs/common';
import { runnable } from '../../agents/agent.schema.js';
import { byId } from '../../database/listing.js';
import { Transactions } from '../../database/transactions.js';
import { paused } from '../../workspaces/workspace.schema.js';
import { type Note, NoteSchema } from './note.schema.js';

/** An agent that is gone holds nothing back: whoever takes its note up finds out. */
const AGENT_STANDS_BY = `EXISTS (SELECT 1 FROM agents agent WHERE agent.id = note.agent_profile_id AND agent.deleted_at IS NULL AND NOT ${runnable('agent')})`;

/** That nothing parks the note. */
const UNPARKED = `NOT ${AGENT_STANDS_BY} AND NOT ${paused('note.workspace_id')}`;

/** Every statement over the wakes that are owed. */
@Injectable()
export class NotesRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(note: Note): Promise<void> {
    await this.transactions.writing().insert(NoteSchema, note);
  }

  /** Strikes the note, and answers whether it was still there: whoever gets true decides its wake. */
  async strike(id: string): Promise<boolean> {
    const result = await this.transactions.writing().delete(NoteSchema, { id });
    return result.affected === 1;
  }

  /** Strikes whatever is owed to an agent. */
  async strikeOwedTo(agentProfileId: string): Promise<void> {
    await this.transactions.writing().delete(NoteSchema, { agentProfileId });
  }

  /** Notes that nobody drives and no pause parks, by id, after the given one. */
  due(now: number, after: string | null, limit: number): Promise<Note[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(NoteSchema, 'note')
      .where('note.dueAt <= :now', { now })
      .andWhere(UNPARKED);
    return byId(query, after, limit);
  }

  /** When the oldest note was written that no pause parks, whoever drives it; null when there is none. */
  async oldestAt(): Promise<number | null> {
    const row = await this.transactions
      .reading()
      .createQueryBuilder(NoteSchema, 'note')
      .select('min(note.createdAt)', 'at')
      .where(UNPARKED)
      .getRawOne<{ at: number | string | null }>();
    return row?.at == null ? null : Number(row.at);
  }

  /** Takes the note over until the given instant, unless somebody else did since it was read. */
  async lease({ id, dueAt }: Note, until: number): Promise<boolean> {
    const result = await this.transactions.writing().update(NoteSchema, { id, dueAt }, { dueAt: until });
    return result.affected === 1;
  }

  /** Leaves the note to whoever comes after the given instant. */
  async leave(id: string, dueAt: number): Promise<void> {
    await this.transactions.writing().update(NoteSchema, { id }, { dueAt });
  }
}
