import { Injectable } from '@nestjs/common';
import { AgentSchema, runnable } from '../agents/agent.schema.js';
import type { InstantPlace } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { DUE, HELD } from './claims.repository.js';
import { type Run, RunSchema } from './run.schema.js';

/** What a claim asks of an agent, asked one by one, in the claim's own words. */
@Injectable()
export class ClaimBlockersRepository {
  constructor(private readonly transactions: Transactions) {}

  isRunnable(agentProfileId: string): Promise<boolean> {
    return this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.id = :agentProfileId', { agentProfileId })
      .andWhere(runnable('agent'))
      .getExists();
  }

  /** The run of the agent that somebody holds. */
  heldBy(agentProfileId: string): Promise<Run | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'held')
      .where('held.agentProfileId = :agentProfileId', { agentProfileId })
      .andWhere(`(${HELD})`)
      .getOne();
  }

  /** The agent's due runs that stand before the given one, oldest first, after the given place, at most `limit`. */
  dueBefore(
    { id, agentProfileId, requestedAt }: Run,
    now: number,
    { after, limit }: { readonly after: InstantPlace | null; readonly limit: number },
  ): Promise<Run[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where(`run.agentProfileId = :agentProfileId AND ${DUE}`, { agentProfileId, now })
      .andWhere('(run.requestedAt < :requestedAt OR (run.requestedAt = :requestedAt AND run.id < :id))', {
        requestedAt,
        id,
      });
    if (after !== null)
      query.andWhere('(run.requestedAt > :at OR (run.requestedAt = :at AND run.id > :afterId))', {
        at: after.instant,
        afterId: after.id,
      });
    return query.orderBy('run.requestedAt').addOrderBy('run.id').limit(limit).getMany();
  }
}
