import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { EventLog } from '../events/event-log.js';
import { Ids } from '../random/ids.js';
import type { Session } from './session.schema.js';
import { type SessionState, isTerminal } from './session-state.js';
import { SessionsRepository } from './sessions.repository.js';

/** What a caller decides about a new session. */
export type NewSession = Pick<
  Session,
  'taskId' | 'workspaceId' | 'agentProfileId' | 'executionProfileId' | 'executorId'
>;

/** Writes sessions together with the events that tell of it, in the open transaction. */
@Injectable()
export class SessionRecords {
  constructor(
    private readonly sessions: SessionsRepository,
    private readonly events: EventLog,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** Inserts a session in state CREATED. The row is made here, so that nothing of a failed attempt is carried on. */
  async insert(wanted: NewSession): Promise<Session> {
    const now = this.clock.now();
    const isFirst = (await this.sessions.list(wanted.taskId)).length === 0;
    const session: Session = {
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
    await this.sessions.insert(session);
    await this.tell('session.created', session, {});
    return session;
  }

  /** Moves a session on from the state it is in, and answers null when it has left that state meanwhile. */
  async move(session: Session, state: SessionState, changes: Partial<Session> = {}): Promise<Session | null> {
    const now = this.clock.now();
    const ending = isTerminal(state) ? { completedAt: now } : {};
    const changed = { ...changes, ...ending, state, updatedAt: now };
    if (!(await this.sessions.update(session.id, session.state, changed))) return null;
    await this.tell('session.state_changed', session, { from: session.state, to: state });
    return { ...session, ...changed };
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
