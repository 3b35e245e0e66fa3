import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { Ids } from '../random/ids.js';
import { EventSequencer } from './event-sequencer.js';
import { EventRepository } from './event.repository.js';
import type { StoredEvent } from './event.schema.js';
import type { NewEvent } from './event.js';

/** How long an event is kept, in milliseconds. */
const KEPT_MS = 7 * 24 * 60 * 60_000;

/** How many events are forgotten in one transaction: what writes meanwhile on SQLite waits some milliseconds for it. */
const BATCH = 500;

/** The durable log of what happened, for whoever follows an office from outside. */
@Injectable()
export class EventLog {
  constructor(
    private readonly transactions: Transactions,
    private readonly repository: EventRepository,
    private readonly sequencer: EventSequencer,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** Tells an event in the open transaction, so that it is told exactly when the change it tells of is made. */
  async append(event: NewEvent): Promise<void> {
    await this.repository.insert({
      id: this.ids.next(),
      number: null,
      workspaceId: event.workspaceId,
      type: event.type,
      at: this.clock.now(),
      subject: event.subject,
      data: event.data ?? {},
    });
    this.transactions.afterCommit(() => {
      this.sequencer.request();
    });
  }

  /** The workspace's numbered events after `number`, oldest first, at most `limit`. */
  async after(workspaceId: string, number: number, limit: number): Promise<readonly StoredEvent[]> {
    await this.sequencer.catchUp();
    return this.repository.numberedAfter(workspaceId, number, limit);
  }

  /** The number of the newest event of all, 0 when there is none. */
  async latest(): Promise<number> {
    await this.sequencer.catchUp();
    return this.repository.lastNumber();
  }

  /** Forgets the beginning of the log that is older than a week. Numbers go on as if it were still there. */
  async forgetOld(): Promise<void> {
    const before = this.clock.now() - KEPT_MS;
    let forgotten = BATCH;
    while (forgotten === BATCH)
      forgotten = await this.transactions.run(() => this.repository.forgetBefore(before, BATCH));
  }
}
