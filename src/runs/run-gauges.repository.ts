import { Injectable } from '@nestjs/common';
import { AgentSchema, runnable } from '../agents/agent.schema.js';
import { Transactions } from '../database/transactions.js';
import { paused } from '../workspaces/workspace.schema.js';
import { DUE } from './claims.repository.js';
import { RunSchema } from './run.schema.js';

/** The statements behind the gauges. */
@Injectable()
export class RunGauges {
  constructor(private readonly transactions: Transactions) {}

  async counts(): Promise<{ queued: number; claimed: number }> {
    const reading = this.transactions.reading();
    return {
      queued: await reading.countBy(RunSchema, { status: 'queued' }),
      claimed: await reading.countBy(RunSchema, { status: 'claimed' }),
    };
  }

  async oldestQueuedAt(): Promise<number | null> {
    return this.transactions
      .reading()
      .minimum(RunSchema, 'requestedAt', { status: 'queued' })
      .then(numberOrNull);
  }

  /**
   * Since when the run waits that has been due longest, of those that are next of an agent who may work: one look into
   * an index for each agent, however long the queue is. A run that was tried before has been due since its retry was.
   */
  async oldestDueAt(now: number): Promise<number | null> {
    const row = await this.transactions
      .reading()
      .createQueryBuilder()
      .select('min(waiting.due_at)', 'at')
      .from(
        (agents) =>
          agents
            .select(`(${NEXT_DUE_AT})`, 'due_at')
            .from(AgentSchema, 'agent')
            .where(`${runnable('agent')} AND NOT ${paused('agent.workspace_id')}`),
        'waiting',
      )
      .setParameter('now', now)
      .getRawOne<{ at: number | string | null }>();
    return numberOrNull(row?.at ?? null);
  }
}

/** In SQL, of the alias `agent`: since when the run is due that a claim would look at first. */
const NEXT_DUE_AT = `SELECT CASE WHEN run.scheduled_retry_at > run.requested_at THEN run.scheduled_retry_at ELSE run.requested_at END FROM runs run WHERE run.agent_profile_id = agent.id AND ${DUE} ORDER BY run.requested_at, run.id LIMIT 1`;

function numberOrNull(value: number | string | null): number | null {
  return value === null ? null : Number(value);
}
