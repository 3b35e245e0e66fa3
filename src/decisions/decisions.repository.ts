import { Injectable } from '@nestjs/common';
import { type InstantPlace, newestFirst, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { DecisionSchema, type StoredDecision } from './decision.schema.js';

/** Which decisions a list shows; what is left open is not asked. */
export interface DecisionFilter {
  readonly workspaceId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly agentProfileId?: string | undefined;
  readonly outcome?: string | undefined;
  /** Only those that happened at this instant or later. */
  readonly from?: number | undefined;
  /** Only those that began at this instant or earlier. */
  readonly to?: number | undefined;
}

/** The fields in which two decisions must be equal to be one row. */
type Fold = Pick<StoredDecision, 'agentProfileId' | 'taskId' | 'reason' | 'outcome' | 'error'>;

/** Every statement over the decisions that made no run. */
@Injectable()
export class DecisionsRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(decision: StoredDecision): Promise<void> {
    await this.transactions.writing().insert(DecisionSchema, decision);
  }

  /** The row of an equal decision that began after the instant, newest first. */
  findEqual(
    { agentProfileId, taskId, reason, outcome, error }: Fold,
    after: number,
  ): Promise<StoredDecision | null> {
    return this.transactions
      .writing()
      .createQueryBuilder(DecisionSchema, 'decision')
      .where('decision.agentProfileId = :agentProfileId AND decision.reason = :reason', {
        agentProfileId,
        reason,
      })
      .andWhere('decision.outcome = :outcome AND decision.firstAt > :after', { outcome, after })
      .andWhere(taskId === null ? 'decision.taskId IS NULL' : 'decision.taskId = :taskId', { taskId })
      .andWhere(error === null ? 'decision.error IS NULL' : 'decision.error = :error', { error })
      .orderBy('decision.firstAt', 'DESC')
      .limit(1)
      .getOne();
  }

  /** Counts one more wake in a row, which from now on tells of the latest. */
  async addTo(
    id: string,
    latest: Pick<StoredDecision, 'lastAt' | 'gate' | 'actorType' | 'actorId' | 'runId' | 'allowance'>,
  ): Promise<void> {
    await this.transactions
      .writing()
      .createQueryBuilder()
      .update(DecisionSchema)
      .set({ ...latest, count: () => '"count" + 1' })
      .where('id = :id', { id })
      .execute();
  }

  /** Newest first. */
  page(
    { from, to, ...equal }: DecisionFilter,
    after: InstantPlace | null,
    limit: number,
  ): Promise<StoredDecision[]> {
    const query = this.transactions.reading().createQueryBuilder(DecisionSchema, 'decision');
    if (from !== undefined) query.andWhere('decision.lastAt >= :from', { from });
    if (to !== undefined) query.andWhere('decision.firstAt <= :to', { to });
    return newestFirst(onlyWhere(query, equal), 'firstAt', { after, limit });
  }

  /** Forgets at most `limit` rows that were last added to before the instant, and answers how many. */
  async forgetBefore(instant: number, limit: number): Promise<number> {
    const old = await this.transactions
      .writing()
      .createQueryBuilder(DecisionSchema, 'decision')
      .where('decision.lastAt < :instant', { instant })
      .limit(limit)
      .getMany();
    for (const { id } of old) await this.transactions.writing().delete(DecisionSchema, { id });
    return old.length;
  }
}
