import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { causesOf } from '../errors/causes.js';
import { ValidationError } from '../errors/reveille-error.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { OfficeSessionCreator } from './office-session-creator.js';
import { OfficeSessionRaceConflict, type SessionPair } from './session.errors.js';
import type { Session } from './session.schema.js';
import { SessionReuse } from './session-reuse.js';
import { SESSION_STORE, type SessionStore } from './session-store.js';

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

/** Finds a pair's one live conversation or creates it; callers that race all get the same one. */
@Injectable()
export class OfficeSessions {
  private readonly results;
  private readonly seconds;

  constructor(
    private readonly transactions: Transactions,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly creator: OfficeSessionCreator,
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
   * @throws OfficeSessionRaceConflict when the pair was taken at both attempts and could be used at neither;
   *   any other failure as itself.
   */
  async ensure(request: SessionRequest): Promise<EnsuredSession> {
    const started = this.clock.now();
    if (request.taskId === '' || request.agentProfileId === '' || request.executionProfileId === '') {
      throw new ValidationError('A session needs a task, an agent and an execution profile.');
    }
    const ensured = await this.findOrCreate(request);
    this.transactions.afterCommit(() => {
      this.results.increment({ result: ensured.created ? 'created' : 'reused' });
      this.seconds.observe((this.clock.now() - started) / 1000);
    });
    return ensured;
  }

  private async findOrCreate(request: SessionRequest): Promise<EnsuredSession> {
    const found = await this.reusable(request);
    if (found !== null) return { session: found, created: false };
    const { taskId, agentProfileId, executionProfileId, executorId = null } = request;
    let refusal: unknown;
    for (let attempt = 1; attempt <= CREATE_ATTEMPTS; attempt++) {
      try {
        const wanted = { taskId, agentProfileId, executionProfileId, executorId };
        return { session: await this.creator.create(wanted), created: true };
      } catch (error) {
        if (!isConflict(error)) throw error;
        refusal = error;
      }
      // Outside the transaction that was refused: it must see what the winner has committed.
      const winner = await this.reusable(request);
      if (winner !== null) return { session: winner, created: false };
    }
    this.results.increment({ result: 'conflict' });
    throw refusal;
  }

  private async reusable(request: SessionRequest): Promise<Session | null> {
    return this.reuse.adopt(await this.store.findPreferred(request), request.executionProfileId);
  }
}

/** Whether the guard refused, however often that was wrapped on the way. Any other failure is itself. */
function isConflict(error: unknown): boolean {
  return causesOf(error).some((cause) => cause instanceof OfficeSessionRaceConflict);
}
