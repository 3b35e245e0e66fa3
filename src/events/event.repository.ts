import { Injectable } from '@nestjs/common';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { EventSchema, EventSequenceSchema, type StoredEvent } from './event.schema.js';

const ONLY_ROW = 1;

/** One statement for a whole batch, which the query builder has no words for. */
const NUMBER_OLDEST = `
  UPDATE events SET number = $1 + ranked.place
  FROM (
    SELECT id, row_number() OVER (ORDER BY at, id) AS place FROM events
    WHERE number IS NULL ORDER BY at, id LIMIT $2
  ) AS ranked
  WHERE events.id = ranked.id`.trim();

/** Every statement over the event log. */
@Injectable()
export class EventRepository {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  async insert(event: StoredEvent): Promise<void> {
    await this.transactions.writing().insert(EventSchema, event);
  }

  /** Waits for the sequencer's turn and answers the last number given. */
  async takeTurn(): Promise<number> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(EventSequenceSchema, 'sequence')
      .where('sequence.id = :id', { id: ONLY_ROW });
    const row = await this.dialect.forUpdate(query).getOneOrFail();
    return row.last;
  }

  async endTurn(last: number): Promise<void> {
    await this.transactions.writing().update(EventSequenceSchema, { id: ONLY_ROW }, { last });
  }

  /** Gives the oldest events without a number the numbers that follow `last`, and answers how many there were. */
  async numberOldest(last: number, limit: number): Promise<number> {
    const result = await this.transactions.writingRunner().query(NUMBER_OLDEST, [last, limit], true);
    return result.affected ?? 0;
  }

  numberedAfter(workspaceId: string, number: number, limit: number): Promise<StoredEvent[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(EventSchema, 'event')
      .where('event.workspaceId = :workspaceId AND event.number > :number', { workspaceId, number })
      .orderBy('event.number')
      .limit(limit)
      .getMany();
  }

  async lastNumber(): Promise<number> {
    const row = await this.transactions.reading().findOneByOrFail(EventSequenceSchema, { id: ONLY_ROW });
    return row.last;
  }
}
