import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../events/event-log.js';
import { Ids } from '../random/ids.js';
import type { WantedSession } from './office-session-creator.js';
import type { Session } from './session.schema.js';
import { type SessionState, isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore } from './session-store.js';

/** Writes sessions together with the events that tell of it: in one transaction, where the store is our own table. */
@Injectable()
export class SessionRecords {
  constructor(
    private readonly transactions: Transactions,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly events: EventLog,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /**
   * Inserts a session in state CREATED, by the given way where it is not the store's plain one. The row is made here, so
   * that nothing of a failed attempt is carried on.
   */
  insert(wanted: WantedSession, store = (row: Session) => this.store.insert(row)): Promise<Session> {
    return this.transactions.run(async () => {
      const session = await this.made(wanted);
      // Told first: what a host's store has inserted cannot be undone with our transaction.
      await this.tell('session.created', session, {});
      await store(session);
      return session;
    });
  }

  /** Moves a session on from the state it is in, and answers null when it has left that state meanwhile. */
  move(session: Session, state: SessionState, changes: Partial<Session> = {}): Promise<Session | null> {
    const now = this.clock.now();
    const ending = isTerminal(state) ? { completedAt: now } : {};
    const changed = { ...changes, ...ending, state, updatedAt: now };
    return this.transactions.run(async () => {
      if (!(await this.store.update(session.id, session.state, changed))) return null;
      await this.tell('session.state_changed', session, { from: session.state, to: state });
      return { ...session, ...changed };
    });
  }

  private async made(wanted: WantedSession): Promise<Session> {
    const now = this.clock.now();
    const isFirst = (await this.store.list(wanted.taskId)).length === 0;
    return {
      id: this.ids.next(),
      ...wanted,
      agentProfileId: wanted.agentProfileId === '' ? null : wanted.agentProfileId,
      state: 'CREATED',
      metadata: isFirst ? { origin: 'task_initial' } : {},
      isPrimary: false,
      startedAt: now,
      updatedAt: now,
      completedAt: null,
    };
  }

  private tell(
    type: 'session.created' | 'session.state_changed',
    { id, taskId, workspaceId, agentProfileId }: Session,
    data: Record<string, string>,
  ): Promise<void> {
    const agent = agentProfileId === null ? {} : { agentProfileId };
    return this.events.append({ type, workspaceId, subject: { sessionId: id, taskId, ...agent }, data });
  }
}
