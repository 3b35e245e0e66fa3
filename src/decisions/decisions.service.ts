import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import type { InstantPlace } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { Ids } from '../random/ids.js';
import type { StoredDecision } from './decision.schema.js';
import { type DecisionFilter, DecisionsRepository } from './decisions.repository.js';

/** How long equal decisions are folded into the first of them, in milliseconds. */
const FOLD_MS = 60_000;

/** How long a decision is kept after the last wake it stands for, in milliseconds. */
const KEPT_MS = 7 * 24 * 60 * 60_000;

/** How many rows are forgotten in one transaction. */
const BATCH = 500;

/** A decision to be kept. */
export type NewDecision = Omit<StoredDecision, 'id' | 'count' | 'firstAt' | 'lastAt'>;

/** Remembers what became of the wakes that made no run. No gate reads it. */
@Injectable()
export class DecisionsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly repository: DecisionsRepository,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /**
   * Keeps a decision, in the transaction around the caller when there is one, and answers how many equal ones its row
   * stands for: a flood of refusals costs one row a minute.
   */
  keep(decision: NewDecision): Promise<number> {
    return this.transactions.run(async () => {
      const now = this.clock.now();
      const equal = await this.repository.findEqual(decision, now - FOLD_MS);
      if (equal === null) {
        await this.repository.insert({
          ...decision,
          id: this.ids.next(),
          count: 1,
          firstAt: now,
          lastAt: now,
        });
        return 1;
      }
      const { gate, actorType, actorId, runId, allowance } = decision;
      await this.repository.addTo(equal.id, { lastAt: now, gate, actorType, actorId, runId, allowance });
      return equal.count + 1;
    });
  }

  /** Newest first. */
  list(
    filter: DecisionFilter,
    after: InstantPlace | null,
    limit: number,
  ): Promise<readonly StoredDecision[]> {
    return this.repository.page(filter, after, limit);
  }

  /** Forgets what is older than a week. */
  async forgetOld(): Promise<void> {
    const before = this.clock.now() - KEPT_MS;
    let forgotten = BATCH;
    while (forgotten === BATCH) {
      forgotten = await this.transactions.run(() => this.repository.forgetBefore(before, BATCH));
    }
  }
}
