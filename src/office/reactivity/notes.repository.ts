import { Injectable } from '@nestjs/common';
import { byId } from '../../database/listing.js';
import { Transactions } from '../../database/transactions.js';
import { type Note, NoteSchema } from './note.schema.js';

/** An agent that is gone holds nothing back: whoever takes its note up finds out. */
const AGENT_STANDS_BY = `EXISTS (SELECT 1 FROM agents agent WHERE agent.id = note.agent_profile_id AND agent.deleted_at IS NULL AND agent.status <> 'idle')`;
const WORKSPACE_IS_PAUSED =
  'EXISTS (SELECT 1 FROM workspace_pauses pause WHERE pause.workspace_id = note.workspace_id AND pause.released_at IS NULL)';

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

  /** Notes that nobody drives and nothing holds back, by id, after the given one. */
  due(now: number, after: string | null, limit: number): Promise<Note[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(NoteSchema, 'note')
      .where('note.dueAt <= :now', { now })
      .andWhere(`(NOT note.is_parked OR NOT (${AGENT_STANDS_BY} OR ${WORKSPACE_IS_PAUSED}))`);
    return byId(query, after, limit);
  }

  /** Takes the note over until the given instant, unless somebody else did since it was read. */
  async lease({ id, dueAt }: Note, until: number): Promise<boolean> {
    const result = await this.transactions
      .writing()
      .update(NoteSchema, { id, dueAt }, { dueAt: until, isParked: false });
    return result.affected === 1;
  }

  /** Leaves the note to whoever comes next, at once or when what holds it back has passed. */
  async leave(id: string, isParked: boolean, dueAt: number): Promise<void> {
    await this.transactions.writing().update(NoteSchema, { id }, { isParked, dueAt });
  }
}
