import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { OfficeSessionRaceConflict } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { SessionsRepository } from './sessions.repository.js';

/**
 * Creates office sessions, at most one live for a pair (REQ-OFFICE-SESSION-IDENTITY-001).
 *
 * The check and the insert share one transaction, in which the task's row is locked first: callers for one task take
 * turns, and each looks after the one before it has committed. No index holds this rule, because other paths keep two
 * live sessions for one pair on purpose.
 */
@Injectable()
export class OfficeSessionCreator {
  constructor(
    private readonly transactions: Transactions,
    private readonly tasks: TasksRepository,
    private readonly sessions: SessionsRepository,
    private readonly records: SessionRecords,
  ) {}

  /** @throws OfficeSessionRaceConflict when the pair has a live session, whoever made it. Nothing is written then. */
  create(
    wanted: Pick<Session, 'taskId' | 'agentProfileId' | 'executionProfileId' | 'executorId'>,
  ): Promise<Session> {
    return this.transactions.run(async () => {
      const task = await this.tasks.lock(wanted.taskId);
      if (task === null) throw new NotFoundError('task');
      await this.guard(wanted);
      return this.records.insert({ ...wanted, workspaceId: task.workspaceId });
    });
  }

  /** A row without an agent names no pair. */
  private async guard({ taskId, agentProfileId }: Pick<Session, 'taskId' | 'agentProfileId'>): Promise<void> {
    if (agentProfileId === null || agentProfileId === '') return;
    const pair = { taskId, agentProfileId };
    if ((await this.sessions.live(pair)).length > 0) throw new OfficeSessionRaceConflict(pair);
  }
}
