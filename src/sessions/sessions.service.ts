import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { causesOf } from '../errors/causes.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError, ValidationError } from '../errors/reveille-error.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { holdsSeat } from '../tasks/task-seats.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { OfficeSessionCreator } from './office-session.creator.js';
import { OfficeSessionRaceConflict, type SessionPair } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { SessionReuse } from './session-reuse.js';
import { type SessionFilter, SessionsRepository } from './sessions.repository.js';

/** How often one call tries to create: once, and once more when the session that blocked it ended meanwhile. */
const CREATE_ATTEMPTS = 2;

/** The session a caller wants to work in. */
export interface SessionRequest extends SessionPair {
  readonly executionProfileId: string;
  readonly executorId?: string | null | undefined;
}

/** The session a caller gets: never none, and never one made by somebody else passed off as its own. */
export interface EnsuredSession {
  readonly session: Session;
  readonly created: boolean;
}

/** The lasting conversations of agents about tasks. */
@Injectable()
export class SessionsService {
  private readonly results;
  private readonly seconds;

  constructor(
    private readonly transactions: Transactions,
    private readonly repository: SessionsRepository,
    private readonly tasks: TasksRepository,
    private readonly creator: OfficeSessionCreator,
    private readonly records: SessionRecords,
    private readonly reuse: SessionReuse,
    private readonly clock: Clock,
    metrics: MetricsService,
  ) {
    this.results = metrics.counter(
      { name: 'office_sessions_total', help: 'Calls for an office session by what they got.' },
      { result: ['created', 'reused', 'conflict'] },
    );
    this.seconds = metrics.seconds({
      name: 'office_session_ensure_seconds',
      help: 'Time to find or create an office session, in seconds.',
    });
  }

  /**
   * Finds the pair's live session or creates it. Callers that race all get the same one.
   *
   * @throws OfficeSessionRaceConflict when the pair was taken at both attempts and could be used at neither;
   *   any other failure as itself.
   */
  async ensure(request: SessionRequest): Promise<EnsuredSession> {
    const started = this.clock.now();
    if (request.taskId === '' || request.agentProfileId === '' || request.executionProfileId === '') {
      throw new ValidationError('A session needs a task, an agent and an execution profile.');
    }
    const ensured = await this.findOrCreate(request);
    this.results.increment({ result: ensured.created ? 'created' : 'reused' });
    this.seconds.observe((this.clock.now() - started) / 1000);
    return ensured;
  }

  /** The session of a run's turn: the pair's one conversation for an office task, a fresh one for any other. */
  async ensureForTurn(request: SessionRequest): Promise<EnsuredSession> {
    const task = await this.tasks.find(request.taskId);
    if (task === null) throw new NotFoundError('task');
    return task.kind === 'office'
      ? this.ensure(request)
      : { session: await this.launch(request), created: true };
  }

  /** A session of its own, beside whatever else is live for the pair: on purpose without a guard (…-004.2). */
  async launch(request: SessionRequest): Promise<Session> {
    const task = await this.tasks.find(request.taskId);
    if (task === null) throw new NotFoundError('task');
    const { agentProfileId, executionProfileId, executorId = null } = request;
    const wanted = {
      taskId: task.id,
      workspaceId: task.workspaceId,
      agentProfileId,
      executionProfileId,
      executorId,
    };
    return this.transactions.run(() => this.records.insert(wanted));
  }

  /** The pair's session that a caller can use, or null. */
  find(pair: SessionPair): Promise<Session | null> {
    return this.repository.findPreferred(pair);
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Session> {
    const session = await this.repository.find(id);
    if (session === null) throw new NotFoundError('session');
    return session;
  }

  listOfTask(taskId: string): Promise<readonly Session[]> {
    return this.repository.list(taskId);
  }

  list(filter: SessionFilter, after: string | null, limit: number): Promise<readonly Session[]> {
    return this.repository.page(filter, after, limit);
  }

  /** The turn begins: a session that was only made, or prepared, is at work now. */
  async beginTurn(session: Session): Promise<Session> {
    if (session.state !== 'CREATED' && session.state !== 'STARTING') return session;
    const running = await this.transactions.run(() => this.records.move(session, 'RUNNING'));
    return running ?? this.get(session.id);
  }

  /**
   * The turn has ended: the process is gone, and the conversation waits for the next one.
   *
   * A session that has ended meanwhile stays as it is.
   */
  async endTurn(id: string, acpSessionId?: string): Promise<void> {
    await this.transactions.run(async () => {
      const session = await this.repository.find(id);
      if (session?.state !== 'RUNNING') return;
      const task = await this.tasks.find(session.taskId);
      const metadata =
        acpSessionId === undefined ? session.metadata : { ...session.metadata, acp_session_id: acpSessionId };
      await this.records.move(session, task?.kind === 'kanban' ? 'WAITING_FOR_INPUT' : 'IDLE', { metadata });
    });
  }

  /** Ends the pair's live conversation for good, because the agent takes no more part. Again: does nothing. */
  async retire(pair: SessionPair): Promise<void> {
    await this.transactions.run(async () => {
      for (const session of await this.repository.live(pair)) await this.records.move(session, 'COMPLETED');
    });
  }

  /** Ends every live conversation of an agent that is no more. */
  async retireAll(agentProfileId: string): Promise<void> {
    await this.transactions.run(async () => {
      for (const session of await this.repository.liveOf(agentProfileId))
        await this.records.move(session, 'COMPLETED');
    });
  }

  /** Ends the agent's conversation about the task, unless it still takes part in another role. */
  async retireUnlessSeated(agentProfileId: string, task: Task): Promise<void> {
    if (holdsSeat(agentProfileId, task, await this.tasks.participants(task.id))) return;
    await this.retire({ taskId: task.id, agentProfileId });
  }

  private async findOrCreate(request: SessionRequest): Promise<EnsuredSession> {
    const { executorId = null, executionProfileId } = request;
    const found = await this.reuse.adopt(await this.repository.findPreferred(request), executionProfileId);
    if (found !== null) return { session: found, created: false };
    let refusal: unknown;
    for (let attempt = 1; attempt <= CREATE_ATTEMPTS; attempt++) {
      try {
        return { session: await this.creator.create({ ...request, executorId }), created: true };
      } catch (error) {
        if (!isConflict(error)) throw error;
        refusal = error;
      }
      // Outside the transaction that was refused: it must see what the winner has committed.
      const winner = await this.reuse.adopt(await this.repository.findPreferred(request), executionProfileId);
      if (winner !== null) return { session: winner, created: false };
    }
    this.results.increment({ result: 'conflict' });
    throw refusal;
  }
}

/** Whether the guard refused, however often that was wrapped on the way. Any other failure is itself. */
function isConflict(error: unknown): boolean {
  return causesOf(error).some((cause) => cause instanceof OfficeSessionRaceConflict);
}
