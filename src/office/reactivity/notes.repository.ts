import { Injectable } from '@nestjs/common';
import { byId } from '../../database/listing.js';
import { Transactions } from '../../database/transactions.js';
import { type Note, NoteSchema } from './note.schema.js';

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

  /** Notes written before the instant, oldest first, after the given one. */
  before(instant: number, after: string | null, limit: number): Promise<Note[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(NoteSchema, 'note')
      .where('note.createdAt < :instant', { instant });
    return byId(query, after, limit);
  }
}
