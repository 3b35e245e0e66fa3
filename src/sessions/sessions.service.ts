import { Inject, Injectable } from '@nestjs/common';
import { IllegalTransitionError, NotFoundError } from '../errors/reveille-error.js';
import { holdsSeat } from '../tasks/task-seats.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { type EnsuredSession, OfficeSessions, type SessionRequest } from './office-sessions.js';
import type { SessionPair } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionLaunches } from './session-launches.js';
import { SessionRecords } from './session-records.js';
import { type SessionState, isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore, sessionOf } from './session-store.js';
import { mayBecome } from './session-transitions.js';
import { type SessionFilter, SessionsRepository } from './sessions.repository.js';

/**
 * The lasting conversations of agents about tasks.
 *
 * What is asked by a session's id alone, or of all tasks at once, is answered from our own table: a host's store is asked
 * by task.
 */
@Injectable()
export class SessionsService {
  constructor(
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly repository: SessionsRepository,
    private readonly tasks: TasksRepository,
    private readonly offices: OfficeSessions,
    private readonly launches: SessionLaunches,
    private readonly records: SessionRecords,
  ) {}

  /**
   * Finds the pair's live session or creates it.
   *
   * @throws NotFoundError, ValidationError for an empty id, OfficeSessionRaceConflict; any other failure as itself.
   */
  ensure(request: SessionRequest): Promise<EnsuredSession> {
    return this.offices.ensure(request);
  }

  /** The session of a run's turn: the pair's one conversation for an office task, a fresh one for any other. */
  async ensureForTurn(request: SessionRequest): Promise<EnsuredSession> {
    const task = await this.tasks.find(request.taskId);
    if (task === null) throw new NotFoundError('task');
    return task.kind === 'office'
      ? this.ensure(request)
      : { session: await this.launch(request), created: true };
  }

  /** A session of its own, beside whatever else is live. @throws NotFoundError */
  launch(request: Parameters<SessionLaunches['launch']>[0]): Promise<Session> {
    return this.launches.launch(request);
  }

  /** A session in the place of another, which stays live. @throws NotFoundError */
  async replace(id: string): Promise<Session> {
    return this.launches.replace(await this.get(id));
  }

  /** A session that another asks for, by default for its own agent. @throws NotFoundError */
  async spawn(id: string, agentProfileId: string | null = null): Promise<EnsuredSession> {
    return this.launches.spawn(await this.get(id), agentProfileId);
  }

  /** The pair's session that a caller can use, or null. */
  find(pair: SessionPair): Promise<Session | null> {
    return this.store.findPreferred(pair);
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Session> {
    const session = await this.repository.find(id);
    if (session === null) throw new NotFoundError('session');
    return session;
  }

  /** The task's session that has the id. @throws NotFoundError */
  async getOfTask(taskId: string, id: string): Promise<Session> {
    const session = await sessionOf(this.store, taskId, id);
    if (session === null) throw new NotFoundError('session');
    return session;
  }

  listOfTask(taskId: string): Promise<readonly Session[]> {
    return this.store.list(taskId);
  }

  list(filter: SessionFilter, after: string | null, limit: number): Promise<readonly Session[]> {
    return this.repository.page(filter, after, limit);
  }

  /** Moves a session on. @throws NotFoundError, or IllegalTransitionError when it may not become that. */
  async setState(id: string, state: SessionState): Promise<Session> {
    for (;;) {
      const session = await this.get(id);
      if (!mayBecome(session.state, state))
        throw new IllegalTransitionError(`A session that is ${session.state} cannot become ${state}.`);
      const moved = await this.records.move(session, state);
      // Moved by somebody else in the same moment: what it has become is judged anew.
      if (moved !== null) return moved;
    }
  }

  /** The turn begins: a session that was only made, or prepared, is at work now. */
  async beginTurn(session: Session): Promise<Session> {
    if (session.state !== 'CREATED' && session.state !== 'STARTING') return session;
    return (
      (await this.records.move(session, 'RUNNING')) ?? (await this.getOfTask(session.taskId, session.id))
    );
  }

  /**
   * The turn has ended: the process is gone, and the conversation waits for the next one.
   *
   * A session that has ended meanwhile stays as it is.
   */
  async endTurn(taskId: string, id: string, acpSessionId?: string): Promise<void> {
    const session = await sessionOf(this.store, taskId, id);
    if (session?.state !== 'RUNNING') return;
    const task = await this.tasks.find(taskId);
    const metadata =
      acpSessionId === undefined ? session.metadata : { ...session.metadata, acp_session_id: acpSessionId };
    await this.records.move(session, task?.kind === 'kanban' ? 'WAITING_FOR_INPUT' : 'IDLE', { metadata });
  }

  /** Ends whatever is live of the pair, because the agent takes no more part. Again, or for nobody: does nothing. */
  async retire({ taskId, agentProfileId }: SessionPair): Promise<void> {
    for (const session of await this.store.list(taskId)) {
      if (session.agentProfileId === agentProfileId && !isTerminal(session.state))
        await this.records.move(session, 'COMPLETED');
    }
  }

  /** Ends every live conversation of an agent that is no more. */
  async retireAll(agentProfileId: string): Promise<void> {
    for (const session of await this.repository.liveOf(agentProfileId))
      await this.records.move(session, 'COMPLETED');
  }

  /** Ends the agent's conversation about the task, unless it still takes part in another role. */
  async retireUnlessSeated(agentProfileId: string, task: Task): Promise<void> {
    if (holdsSeat(agentProfileId, task, await this.tasks.participants(task.id))) return;
    await this.retire({ taskId: task.id, agentProfileId });
  }
}
