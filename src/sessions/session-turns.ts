import { Inject, Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore, sessionOf } from './session-store.js';
import { SessionsRepository } from './sessions.repository.js';

/** What a turn leaves to the next one. */
export interface TurnLegacy {
  /** The provider's name for the conversation; left out when there is none. */
  readonly acpSessionId?: string | undefined;
  /** The profile with which the turn was launched, whose provider that is. */
  readonly executionProfileId: string | null;
}

/** The beginning and the end of a turn, as its session sees it. */
@Injectable()
export class SessionTurns {
  constructor(
    private readonly transactions: Transactions,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly repository: SessionsRepository,
    private readonly tasks: TasksRepository,
    private readonly records: SessionRecords,
  ) {}

  /** A live session is at work now. Null when it ends in the same moment. */
  async begin(session: Session): Promise<Session | null> {
    let current: Session | null = session;
    while (current !== null && !isTerminal(current.state)) {
      if (current.state === 'RUNNING') return current;
      const { taskId, id }: Session = current;
      current = (await this.records.move(current, 'RUNNING')) ?? (await sessionOf(this.store, taskId, id));
    }
    return null;
  }

  /**
   * The process is gone, and the conversation waits for the next turn. What the provider calls it is forgotten when the
   * session was bound to another profile meanwhile. A session that has ended stays as it is.
   */
  end(taskId: string, id: string, legacy: TurnLegacy): Promise<void> {
    return this.transactions.run(async () => {
      // Nobody binds it to another profile between the look and the change.
      await this.repository.lock(id);
      const session = await sessionOf(this.store, taskId, id);
      if (session === null || isTerminal(session.state)) return;
      const metadata = metadataAfter(session, legacy);
      if (session.state !== 'RUNNING') await this.store.update(id, session.state, { metadata });
      else await this.records.move(session, await this.restingState(taskId), { metadata });
    });
  }

  private async restingState(taskId: string): Promise<'IDLE' | 'WAITING_FOR_INPUT'> {
    return (await this.tasks.find(taskId))?.kind === 'kanban' ? 'WAITING_FOR_INPUT' : 'IDLE';
  }
}

function metadataAfter(
  session: Session,
  { acpSessionId, executionProfileId }: TurnLegacy,
): Session['metadata'] {
  return acpSessionId === undefined || executionProfileId !== session.executionProfileId
    ? session.metadata
    : { ...session.metadata, acp_session_id: acpSessionId };
}
