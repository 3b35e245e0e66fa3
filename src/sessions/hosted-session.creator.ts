import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../errors/reveille-error.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { OfficeSessionCreator, type WantedSession, namesPair } from './office-session-creator.js';
import { OfficeSessionRaceConflict } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { isTerminal } from './session-state.js';
import type { SessionStore } from './session-store.js';
import { TaskLocks } from './task-locks.js';

/**
 * Creates office sessions in a host's own store: by its own transaction when it has one for this, else under a lock per
 * task, which holds within this process only.
 */
@Injectable()
export class HostedSessionCreator extends OfficeSessionCreator {
  private readonly locks = new TaskLocks();

  constructor(
    private readonly store: SessionStore,
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
    if (byStore !== undefined) return this.records.insert(complete, byStore);
    return this.locks.during(task.id, async () => {
      await this.guard(complete);
      return this.records.insert(complete);
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
