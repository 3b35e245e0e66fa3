import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { ENDED, type Run, RunSchema } from './run.schema.js';

/** Which runs of an agent are history that nobody needs. */
export interface Forgettable {
  readonly agentProfileId: string;
  /** Only runs that were requested and ended, and whose every wake came, before this instant. */
  readonly before: number;
  /** So many of the agent's newest ended runs stay, however old. */
  readonly kept: number;
}

/** What every run that is forgotten must be: old by its end, or by its request where nobody wrote the end down. */
const FORGETTABLE = [
  `run.agent_profile_id = :agentProfileId AND run.${ENDED} AND run.claim_token_hash IS NULL`,
  'run.requested_at < :before AND COALESCE(run.finished_at, run.requested_at) < :before',
  'NOT EXISTS (SELECT 1 FROM run_wakes wake WHERE wake.run_id = run.id AND wake.requested_at >= :before)',
  `(run.requested_at, run.id) < (SELECT newest.requested_at, newest.id FROM runs newest WHERE newest.agent_profile_id = :agentProfileId AND newest.${ENDED} ORDER BY newest.requested_at DESC, newest.id DESC LIMIT 1 OFFSET :offset)`,
].join(' AND ');

/** Every statement over runs that have ended. */
@Injectable()
export class RunHistory {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  /** The first agent by id, after the given one, that has an ended run. One step in an index, however many runs those have. */
  async nextAgent(after: string): Promise<string | null> {
    const row = await this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .select('min(run.agentProfileId)', 'id')
      .where(`run.agentProfileId > :after AND run.${ENDED}`, { after })
      .getRawOne<{ id: string | null }>();
    return row?.id ?? null;
  }

  hasForgettable(wanted: Forgettable): Promise<boolean> {
    return this.query(wanted).getExists();
  }

  /**
   * Deletes at most `limit` of them, the oldest, with the ledger of their wakes, and answers how many. One that somebody
   * else is deleting is passed over.
   */
  async forget(wanted: Forgettable, limit: number): Promise<number> {
    const query = this.query(wanted)
      .select('run.id')
      .orderBy('run.requestedAt')
      .addOrderBy('run.id')
      .limit(limit);
    const old = await this.dialect.forUpdateSkipLocked(query).getMany();
    if (old.length > 0)
      await this.transactions.writing().delete(
        RunSchema,
        old.map(({ id }) => id),
      );
    return old.length;
  }

  private query({ agentProfileId, before, kept }: Forgettable): SelectQueryBuilder<Run> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where(FORGETTABLE, { agentProfileId, before, offset: kept - 1 });
  }
}
