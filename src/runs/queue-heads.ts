import { Injectable } from '@nestjs/common';
import { AgentSchema } from '../agents/agent.schema.js';
import { Clock } from '../clock/clock.js';
import { Dialect } from '../database/dialect.js';
import { SharedPass } from '../database/shared-pass.js';
import { Transactions } from '../database/transactions.js';
import { DUE, HELD } from './claims.repository.js';
import { QUEUE_CHANGES, type QueueHead, QueueHeadSchema } from './queue-head.schema.js';

/** How many heads one statement works out: it stays well below the number of parameters that SQLite allows. */
const BATCH = 500;

/** What the working out answers, with instants as the driver hands them out. */
type Found = Readonly<Record<'agentProfileId' | 'workspaceId', string>> &
  Readonly<Record<'headAt' | 'retryAt', string | number | null>>;

/**
 * Who waits, so that a claim need not go through the queue: with 100 000 runs of one busy agent at its head it would read
 * them all.
 *
 * Whoever changes a run, by our statements or from outside, leaves a note by a trigger; whoever claims works off the
 * notes first. Only that is serial, so a head is never worked out from what was true before an earlier one.
 */
@Injectable()
export class QueueHeads {
  private readonly passes = new SharedPass(() => this.refresh());

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly clock: Clock,
  ) {}

  /** Brings the heads up to date with everything that was committed when the call was made. */
  async catchUp(): Promise<void> {
    if (!(await this.isBehind())) return;
    await (this.transactions.inside ? this.refresh() : this.passes.run());
  }

  /** Has an agent's head worked out again, because it promised what was not there. */
  async doubt(agentProfileId: string): Promise<void> {
    const { table, column } = QUEUE_CHANGES;
    const note = this.transactions.writing().createQueryBuilder().insert().into(table, [column]);
    await note
      .values({ [column]: agentProfileId })
      .orIgnore()
      .execute();
  }

  private async isBehind(): Promise<boolean> {
    const reading = this.transactions.reading();
    const noted = await reading.query<unknown[]>(`SELECT 1 FROM ${QUEUE_CHANGES.table} LIMIT 1`);
    return noted.length > 0 || (await this.withDueRetry(1)).length > 0;
  }

  private refresh(): Promise<void> {
    return this.transactions.run(async () => {
      const manager = this.transactions.writing();
      await this.dialect.lock(manager, ['queue-heads']);
      const noted = await this.dialect.takeAll(manager, QUEUE_CHANGES.table, QUEUE_CHANGES.column);
      const ids = [...new Set([...noted, ...(await this.withDueRetry(BATCH))])];
      for (let from = 0; from < ids.length; from += BATCH) await this.workOut(ids.slice(from, from + BATCH));
    });
  }

  /** Agents of whom a run has become due since their head was worked out, which changes no row and leaves no note. */
  private async withDueRetry(limit: number): Promise<string[]> {
    const rows = await this.transactions
      .reading()
      .createQueryBuilder(QueueHeadSchema, 'head')
      .where('head.retryAt <= :now', { now: this.clock.now() })
      .limit(limit)
      .getMany();
    return rows.map(({ agentProfileId }) => agentProfileId);
  }

  private async workOut(ids: readonly string[]): Promise<void> {
    const manager = this.transactions.writing();
    const of = (column: string, where: string) =>
      `(SELECT run.${column} FROM runs run WHERE run.agent_profile_id = agent.id AND ${where} ORDER BY run.${column} LIMIT 1)`;
    const isBusy = `EXISTS (SELECT 1 FROM runs held WHERE held.agent_profile_id = agent.id AND (${HELD}))`;
    const found = await manager
      .createQueryBuilder(AgentSchema, 'agent')
      .select('agent.id', 'agentProfileId')
      .addSelect('agent.workspaceId', 'workspaceId')
      .addSelect(`CASE WHEN ${isBusy} THEN NULL ELSE ${of('requested_at', DUE)} END`, 'headAt')
      .addSelect(
        of('scheduled_retry_at', `run.status = 'queued' AND run.scheduled_retry_at > :now`),
        'retryAt',
      )
      .where('agent.id IN (:...ids)', { ids, now: this.clock.now() })
      .getRawMany<Found>();
    if (found.length > 0) await manager.upsert(QueueHeadSchema, found.map(headOf), ['agentProfileId']);
  }
}

function headOf({ headAt, retryAt, ...agent }: Found): QueueHead {
  return { ...agent, headAt: numberOrNull(headAt), retryAt: numberOrNull(retryAt) };
}

function numberOrNull(value: string | number | null): number | null {
  return value === null ? null : Number(value);
}
