import { Inject, Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { IllegalTransitionError, NotFoundError } from '../errors/reveille-error.js';
import { holdsSeat } from '../tasks/task-seats.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { type EnsuredSession, OfficeSessions, type SessionRequest } from './office-sessions.js';
import type { SessionPair } from './session.errors.js';
import type { Session } from './session.schema.js';
import { type LaunchRequest, SessionLaunches } from './session-launches.js';
import { SessionRecords } from './session-records.js';
import { type SessionState, isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore, sessionOf } from './session-store.js';
import { mayBecome } from './session-transitions.js';
import { type SessionFilter, SessionsRepository } from './sessions.repository.js';

/**
 * The lasting conversations of agents about tasks.
 *
 * What is asked of all tasks at once is answered from our own table: a host's store is asked by task, or by id.
 */
@Injectable()
export class SessionsService {
  constructor(
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly repository: SessionsRepository,
    private readonly tasks: TasksRepository,
    private readonly officeSessions: OfficeSessions,
    private readonly launches: SessionLaunches,
    private readonly records: SessionRecords,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Finds the pair's live session or creates it.
   *
   * @throws NotFoundError, ValidationError for an empty id, OfficeSessionRaceConflict; any other failure as itself.
   */
  ensure(request: SessionRequest): Promise<EnsuredSession> {
    return this.officeSessions.ensure(request);
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
  launch(request: LaunchRequest): Promise<Session> {
    return this.launches.launch(request);
  }

  /** A session in the place of a live one, which stays live. @throws NotFoundError, IllegalTransitionError */
  async replace(id: string): Promise<Session> {
    return this.launches.replace(await this.getLive(id));
  }

  /** A session that a live one asks for, by default for its own agent. @throws NotFoundError, IllegalTransitionError */
  async spawn(id: string, agentProfileId: string | null = null): Promise<EnsuredSession> {
    return this.launches.spawn(await this.getLive(id), agentProfileId);
  }

  /** The pair's session that a caller can use, or null. */
  find(pair: SessionPair): Promise<Session | null> {
    return this.store.findPreferred(pair);
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Session> {
    const session = (await this.store.find?.(id)) ?? null;
    if (session === null) throw new NotFoundError('session');
    return session;
  }

  private async getLive(id: string): Promise<Session> {
    const session = await this.get(id);
    if (isTerminal(session.state)) throw new IllegalTransitionError('The session has ended.');
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

  /** Ends whatever is live of the pair, because the agent takes no more part. Again, or for nobody: does nothing. */
  retire({ taskId, agentProfileId }: SessionPair): Promise<void> {
    return this.retireEach(async () => {
      const ofTask = await this.store.list(taskId);
      return ofTask.filter((row) => row.agentProfileId === agentProfileId && !isTerminal(row.state));
    });
  }

  /** Ends every live conversation of an agent that is no more. */
  retireAll(agentProfileId: string): Promise<void> {
    return this.retireEach(() => this.repository.liveOf(agentProfileId));
  }

  /** Ends the agent's conversation about the task, unless it still takes part in another role. */
  async retireUnlessSeated(agentProfileId: string, task: Task): Promise<void> {
    if (holdsSeat(agentProfileId, task, await this.tasks.participants(task.id))) return;
    await this.retire({ taskId: task.id, agentProfileId });
  }

  /** Looks again until nothing is left: a session that moved in the same moment is live all the same. */
  private retireEach(find: () => Promise<readonly Session[]>): Promise<void> {
    return this.transactions.run(async () => {
      for (let live = await find(); live.length > 0; live = await find()) {
        for (const session of live) await this.records.move(session, 'COMPLETED');
      }
    });
  }
}
