import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { OfficeSessionCreator, type WantedSession, namesPair } from './office-session-creator.js';
import { OfficeSessionRaceConflict } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { SessionsRepository } from './sessions.repository.js';

/**
 * Creates office sessions in our own table.
 *
 * The check and the insert share one transaction, in which the task's row is locked first: callers for one task take
 * turns, and each looks after the one before it has committed. No index holds this rule, because other paths keep two
 * live sessions for one pair on purpose.
 */
@Injectable()
export class TransactionalSessionCreator extends OfficeSessionCreator {
  constructor(
    private readonly transactions: Transactions,
    private readonly agents: AgentsRepository,
    private readonly tasks: TasksRepository,
    private readonly sessions: SessionsRepository,
    private readonly records: SessionRecords,
  ) {
    super();
  }

  create(wanted: Omit<WantedSession, 'workspaceId'>): Promise<Session> {
    return this.transactions.run(async () => {
      // The agent before the task, as by whoever deletes it.
      if (namesPair(wanted)) await this.agents.keepUnlessUnknown(wanted.agentProfileId);
      const task = await this.tasks.lock(wanted.taskId);
      if (task === null) throw new NotFoundError('task');
      await this.guard(wanted);
      return this.records.insert({ ...wanted, workspaceId: task.workspaceId });
    });
  }

  private async guard(wanted: Omit<WantedSession, 'workspaceId'>): Promise<void> {
    if (!namesPair(wanted)) return;
    if (await this.sessions.hasLive(wanted)) throw new OfficeSessionRaceConflict(wanted);
  }
}
