import { Inject, Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { OfficeSessionCreator, type WantedSession, namesPair } from './office-session-creator.js';
import { OfficeSessionRaceConflict } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore } from './session-store.js';
import { TaskLocks } from './task-locks.js';

/**
 * Creates office sessions in a host's own store, one task's at a time within this process: by the store's own transaction
 * when it has one for this, else by a check of ours under that lock.
 */
@Injectable()
export class HostedSessionCreator extends OfficeSessionCreator {
  private readonly locks = new TaskLocks();

  constructor(
    private readonly transactions: Transactions,
    private readonly agents: AgentsRepository,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly tasks: TasksRepository,
    private readonly records: SessionRecords,
  ) {
    super();
  }

  async create(wanted: Omit<WantedSession, 'workspaceId'>): Promise<Session> {
    const task = await this.tasks.find(wanted.taskId);
    if (task === null) throw new NotFoundError('task');
    const complete = { ...wanted, workspaceId: task.workspaceId };
    const byStore = this.store.createOfficeSession?.bind(this.store);
    // The transaction before the lock, always: a caller may be inside one already.
    return this.transactions.run(async () => {
      if (namesPair(wanted)) await this.agents.keepUnlessUnknown(wanted.agentProfileId);
      return this.locks.during(task.id, async () => {
        if (byStore === undefined) await this.guard(complete);
        return this.records.insert(complete, byStore);
      });
    });
  }

  /** The pair first, the state second: another agent's live session refuses nobody. */
  private async guard(wanted: WantedSession): Promise<void> {
    if (!namesPair(wanted)) return;
    const sessions = await this.store.list(wanted.taskId);
    const ofPair = sessions.filter(({ agentProfileId }) => agentProfileId === wanted.agentProfileId);
    if (ofPair.some(({ state }) => !isTerminal(state))) throw new OfficeSessionRaceConflict(wanted);
  }
}
