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

  /**
   * Deletes of the `limit` lowest numbers those before the first event that is not older than the instant, and answers how
   * many. What is deleted is always the beginning of the log, so the lowest number left tells a reader what is missing.
   * An event without a number has not been shown yet, and stays.
   */
  async forgetBefore(instant: number, limit: number): Promise<number> {
    const lowest = await this.transactions
      .writing()
      .createQueryBuilder(EventSchema, 'event')
      .select(['event.number', 'event.at'])
      .where('event.number IS NOT NULL')
      .orderBy('event.number')
      .limit(limit)
      .getMany();
    const kept = lowest.findIndex(({ at }) => at >= instant);
    const old = kept === -1 ? lowest : lowest.slice(0, kept);
    const last = old.at(-1)?.number;
    if (last == null) return 0;
    await this.transactions
      .writing()
      .createQueryBuilder()
      .delete()
      .from(EventSchema)
      .where('number <= :last', { last })
      .execute();
    return old.length;
  }

  /** When the oldest event was told that has no number yet; null when all of them have. */
  async oldestUnnumberedAt(): Promise<number | null> {
    const oldest = await this.transactions
      .reading()
      .createQueryBuilder(EventSchema, 'event')
      .where('event.number IS NULL')
      .orderBy('event.at')
      .addOrderBy('event.id')
      .limit(1)
      .getOne();
    return oldest?.at ?? null;
  }

  async lastNumber(): Promise<number> {
    const row = await this.transactions.reading().findOneByOrFail(EventSequenceSchema, { id: ONLY_ROW });
    return row.last;
  }
}
