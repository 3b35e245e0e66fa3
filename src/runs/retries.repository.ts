import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { type Run, RunSchema } from './run.schema.js';

/** Statements over runs that wait to be tried again, and over those that were made by trying others again. */
@Injectable()
export class RetriesRepository {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  /** Those about the task, in the order of their ids, kept from changing until the transaction ends. */
  lockAbout(workspaceId: string, taskId: string): Promise<Run[]> {
    const query = this.waiting().andWhere('run.workspaceId = :workspaceId AND run.taskId = :taskId', {
      workspaceId,
      taskId,
    });
    return this.dialect.forUpdate(query).getMany();
  }

  /**
   * Those of the same agent, task and reason that were requested before the run, likewise. One that somebody else is
   * just then changing is left to them: whoever ends an agent's runs locks them by id, and may have begun before this one.
   */
  lockOlderThan({ id, agentProfileId, taskId, reason, requestedAt }: Run): Promise<Run[]> {
    const query = this.waiting()
      .andWhere('run.agentProfileId = :agentProfileId AND run.reason = :reason AND run.taskId = :taskId', {
        agentProfileId,
        reason,
        taskId,
      })
      .andWhere(`(run.requestedAt < :requestedAt OR (run.requestedAt = :requestedAt AND run.id < :id))`, {
        requestedAt,
        id,
      });
    return this.dialect.forUpdateSkipLocked(query).getMany();
  }

  /** The run that was made by trying this one again, and that has not ended. */
  unendedRetryOf(id: string): Promise<Run | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where(`run.retryOf = :id AND run.status IN ('queued', 'claimed')`, { id })
      .limit(1)
      .getOne();
  }

  private waiting(): SelectQueryBuilder<Run> {
    return this.transactions
      .writing()
      .createQueryBuilder(RunSchema, 'run')
      .where(`run.status = 'queued' AND run.scheduledRetryAt IS NOT NULL`)
      .orderBy('run.id');
  }
}
