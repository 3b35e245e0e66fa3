import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { SharedPass } from '../database/shared-pass.js';
import { Transactions } from '../database/transactions.js';
import { EventRepository } from './event.repository.js';

/** How many events are numbered in one transaction. */
const BATCH = 500;

/**
 * Numbers events that are committed.
 *
 * Numbers drawn inside the writing transactions would commit out of order, and a reader that has seen 6 would never
 * be shown a 5 that commits later. So events are written without a number, and one sequencer at a time numbers what it
 * can see; readers are shown only what is numbered.
 */
@Injectable()
export class EventSequencer implements OnApplicationShutdown {
  private readonly logger = new Logger(EventSequencer.name);
  private readonly passes = new SharedPass(() => this.pass());

  constructor(
    private readonly transactions: Transactions,
    private readonly repository: EventRepository,
  ) {}

  /** Asks for the new events to be numbered soon. One that fails is made good by the next reader or writer. */
  request(): void {
    this.catchUp().catch((error: unknown) => {
      this.logger.warn({ error: String(error) }, 'events could not be numbered');
    });
  }

  /**
   * Numbers everything that was committed when the call was made. Never inside a unit of work: it would wait for a pass
   * that may wait for that very unit, and number what is not committed yet.
   */
  async catchUp(): Promise<void> {
    if (this.transactions.inside) throw new Error('Events are numbered outside of any unit of work.');
    return this.passes.run();
  }

  onApplicationShutdown(): Promise<void> {
    return this.passes.settled();
  }

  private async pass(): Promise<void> {
    let numbered = BATCH;
    while (numbered === BATCH) numbered = await this.numberBatch();
  }

  private numberBatch(): Promise<number> {
    return this.transactions.run(async () => {
      const last = await this.repository.takeTurn();
      const count = await this.repository.numberOldest(last, BATCH);
      if (count > 0) await this.repository.endTurn(last + count);
      return count;
    });
  }
}
