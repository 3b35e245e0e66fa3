import type { Agent } from '../../../src/agents/agent.schema.js';
import { PostgresDialect } from '../../../src/database/dialects/postgres.dialect.js';
import type { Transactions } from '../../../src/database/transactions.js';
import { type ClaimScope, ClaimsRepository } from '../../../src/runs/claims.repository.js';
import type { Run } from '../../../src/runs/run.schema.js';
import { sessionsOf } from './memory-connections.js';
import { newestFirst } from './memory-runs.js';
import type { Session } from './session.js';

/** The statements by which runs leave the queue, over the store in memory. */
export class MemoryClaims extends ClaimsRepository {
  private readonly sessions;

  constructor(transactions: Transactions) {
    super(transactions, new PostgresDialect());
    this.sessions = sessionsOf(transactions);
  }

  override lockWaitingAgents(
    scope: ClaimScope,
    passedOver: readonly string[],
    limit: number,
  ): Promise<Agent[]> {
    return this.sessions.writing().statement('lock waiting agents', (session) => {
      const waiting = session.store.agents
        .unheld(session)
        .filter((agent) => !passedOver.includes(agent.id) && isAsked(agent, scope))
        .filter((agent) => this.mayWork(agent, session))
        .flatMap((agent) => this.firstDue(session, agent.id, Infinity).map((run) => ({ agent, run })))
        .sort((one, other) => one.run.requestedAt - other.run.requestedAt)
        .slice(0, limit)
        .map(({ agent }) => agent);
      session.store.agents.lock(session, (agent) => waiting.includes(agent));
      return waiting;
    });
  }

  override oldestDue(agentProfileId: string, now: number): Promise<Run | null> {
    return this.sessions.writing().statement('lock the oldest due run', (session) => {
      const [due] = this.firstDue(session, agentProfileId, now);
      return session.store.runs.lock(session, (run) => run === due).at(0) ?? null;
    });
  }

  override async change(id: string, expected: Run['status'], changes: Partial<Run>): Promise<boolean> {
    const changed = await this.sessions.writing().statement('change a run', (session) =>
      session.store.runs.update(
        session,
        (run) => run.id === id && run.status === expected,
        (run) => ({ ...run, ...changes }),
      ),
    );
    return changed === 1;
  }

  override lock(id: string): Promise<Run | null> {
    return this.sessions
      .writing()
      .statement(
        'lock a run',
        (session) => session.store.runs.lock(session, (run) => run.id === id).at(0) ?? null,
      );
  }

  private mayWork({ status, deletedAt, workspaceId }: Agent, session: Session): boolean {
    const pauses = session.store.pauses.seenBy(session);
    const isPaused = pauses.some((pause) => pause.workspaceId === workspaceId && pause.releasedAt === null);
    return status === 'idle' && deletedAt === null && !isPaused;
  }

  /** The oldest due run of an agent who holds none. */
  private firstDue(session: Session, agentProfileId: string, now: number): readonly Run[] {
    const own = session.store.runs.seenBy(session).filter((run) => run.agentProfileId === agentProfileId);
    if (own.some(({ status, claimTokenHash }) => status === 'claimed' || claimTokenHash !== null)) return [];
    const due = own.filter(
      ({ status, scheduledRetryAt }) =>
        status === 'queued' && (scheduledRetryAt === null || scheduledRetryAt <= now),
    );
    return due.sort(newestFirst).slice(-1);
  }
}

function isAsked(agent: Agent, { workspaceId, agentProfileIds, launchableHere }: ClaimScope): boolean {
  if (workspaceId !== null && agent.workspaceId !== workspaceId) return false;
  if (agentProfileIds?.includes(agent.id) === false) return false;
  return launchableHere !== true || (agent.command !== null && agent.executor === 'command');
}
