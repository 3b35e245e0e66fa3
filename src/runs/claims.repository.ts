import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { type Agent, AgentSchema, runnable } from '../agents/agent.schema.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import type { SessionPair } from '../sessions/session.errors.js';
import { paused } from '../workspaces/workspace.schema.js';
import { type Run, RunSchema } from './run.schema.js';

/** The runs that a claimer asks for. */
export interface ClaimScope {
  /** Null for every workspace. */
  readonly workspaceId: string | null;
  /** Null for every agent. */
  readonly agentProfileIds: readonly string[] | null;
  /** Only agents whose program this server can start itself. */
  readonly launchableHere?: boolean | undefined;
}

/** What names a claim: its token, and the bearer token that made it. */
export interface ClaimProof {
  readonly claimTokenHash: string;
  readonly claimedByTokenId: string;
}

/** The fields of a run that nobody holds. */
export const UNHELD = {
  claimTokenHash: null,
  claimedByTokenId: null,
  leaseExpiresAt: null,
  interruptRequestedAt: null,
} as const satisfies Partial<Run>;

/** In SQL, of the alias `run`: whether it waits and its time has come. */
export const DUE = `run.status = 'queued' AND (run.scheduled_retry_at IS NULL OR run.scheduled_retry_at <= :now)`;
/** In SQL, of the alias `held`: whether somebody holds the run. */
export const HELD = `held.status = 'claimed' OR held.claim_token_hash IS NOT NULL`;

/** Every statement by which runs are claimed, held and let go. */
@Injectable()
export class ClaimsRepository {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  /**
   * The agents whose turn it is, longest waiting first, locked so that nobody else claims for them meanwhile: runnable,
   * in a workspace that is not paused, holding no run, with one that is due.
   */
  async lockWaitingAgents(scope: ClaimScope, now: number, limit: number): Promise<Agent[]> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(AgentSchema, 'agent')
      .addSelect(
        `(SELECT min(run.requested_at) FROM runs run WHERE run.agent_profile_id = agent.id AND ${DUE})`,
        'head_at',
      )
      .where(runnable('agent'))
      .andWhere(`EXISTS (SELECT 1 FROM runs run WHERE run.agent_profile_id = agent.id AND ${DUE})`, { now })
      .andWhere(`NOT EXISTS (SELECT 1 FROM runs held WHERE held.agent_profile_id = agent.id AND (${HELD}))`)
      .andWhere(`NOT ${paused('agent.workspace_id')}`)
      .orderBy('head_at')
      .limit(limit);
    if (scope.workspaceId !== null)
      query.andWhere('agent.workspaceId = :workspaceId', { workspaceId: scope.workspaceId });
    if (scope.agentProfileIds !== null)
      query.andWhere('agent.id IN (:...ids)', { ids: [...scope.agentProfileIds, ''] });
    if (scope.launchableHere === true)
      query.andWhere(`agent.command IS NOT NULL AND agent.executor = 'command'`);
    return this.dialect.forUpdateSkipLocked(query).getMany();
  }

  /**
   * The oldest due run of an agent that holds none, locked. Asked after the agent is, so that it sees who claimed before.
   */
  oldestDue(agentProfileId: string, now: number): Promise<Run | null> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(RunSchema, 'run')
      .where(`run.agentProfileId = :agentProfileId AND ${DUE}`, { agentProfileId, now })
      .andWhere(
        `NOT EXISTS (SELECT 1 FROM runs held WHERE held.agent_profile_id = :agentProfileId AND (${HELD}))`,
      )
      .orderBy('run.requestedAt')
      .addOrderBy('run.id')
      .limit(1);
    return this.dialect.forUpdate(query).getOne();
  }

  /** Changes a run that is still in the expected status, and answers whether it was. */
  async change(id: string, expected: Run['status'], changes: Partial<Run>): Promise<boolean> {
    const result = await this.transactions.writing().update(RunSchema, { id, status: expected }, changes);
    return result.affected === 1;
  }

  /** Finds the run and keeps everybody else from changing it until the transaction ends. */
  lock(id: string): Promise<Run | null> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(RunSchema, 'run')
      .where('run.id = :id', { id });
    return this.dialect.forUpdate(query).getOne();
  }

  /** The agent's runs that have not ended, in the order of their ids, kept as by {@link lock}. */
  lockUnended(agentProfileId: string): Promise<Run[]> {
    const query = this.ofAgent(agentProfileId).andWhere(`run.status IN ('queued', 'claimed')`);
    return this.dialect.forUpdate(query).getMany();
  }

  /** The agent's runs about the task that wait for another try, likewise. */
  lockRetriesOf({ taskId, agentProfileId }: SessionPair): Promise<Run[]> {
    const query = this.ofAgent(agentProfileId)
      .andWhere('run.taskId = :taskId', { taskId })
      .andWhere(`run.status = 'queued' AND run.scheduledRetryAt IS NOT NULL`);
    return this.dialect.forUpdate(query).getMany();
  }

  /** The runs whose holder has not been heard of in time. */
  overdue(now: number, limit: number): Promise<Run[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where('run.claimTokenHash IS NOT NULL AND run.leaseExpiresAt < :now', { now })
      .limit(limit)
      .getMany();
  }

  /** The runs about the task that somebody holds, by id. */
  claimedAbout(taskId: string): Promise<Run[]> {
    return this.transactions
      .reading()
      .find(RunSchema, { where: { taskId, status: 'claimed' }, order: { id: 'ASC' } });
  }

  /** Those of the agents that are at work. */
  async busyAgents(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .select('run.agentProfileId', 'id')
      .where(`run.status = 'claimed' AND run.agentProfileId IN (:...ids)`, { ids })
      .getRawMany<{ id: string }>();
    return new Set(rows.map(({ id }) => id));
  }

  private ofAgent(agentProfileId: string): SelectQueryBuilder<Run> {
    return this.transactions
      .writing()
      .createQueryBuilder(RunSchema, 'run')
      .where('run.agentProfileId = :agentProfileId', { agentProfileId })
      .orderBy('run.id');
  }
}
