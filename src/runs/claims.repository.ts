import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { type Agent, AgentSchema, runnable } from '../agents/agent.schema.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import type { SessionPair } from '../sessions/session.errors.js';
import { paused } from '../workspaces/workspace.schema.js';
import { QueueHeadSchema } from './queue-head.schema.js';
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

/** In SQL, of an alias `run`: whether it waits and need wait no longer at `:now`. */
export const DUE = `run.status = 'queued' AND (run.scheduled_retry_at IS NULL OR run.scheduled_retry_at <= :now)`;
/** In SQL, of an alias `held`: whether somebody is at work on it, or has not let go of it yet. */
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
   * in a workspace that is not paused, and by their {@link QueueHead} with a run that is due. Whether that still is so is
   * for {@link oldestDue} to say.
   */
  async lockWaitingAgents(scope: ClaimScope, passedOver: readonly string[], limit: number): Promise<Agent[]> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(AgentSchema, 'agent')
      .innerJoin(QueueHeadSchema.options.name, 'head', 'head.agentProfileId = agent.id')
      .where('head.headAt IS NOT NULL')
      .andWhere(runnable('agent'))
      .andWhere(`NOT ${paused('agent.workspace_id')}`)
      .orderBy('head.headAt')
      .addOrderBy('head.agentProfileId')
      .limit(limit);
    if (passedOver.length > 0) query.andWhere('agent.id NOT IN (:...passedOver)', { passedOver });
    if (scope.workspaceId !== null)
      query.andWhere('head.workspaceId = :workspaceId', { workspaceId: scope.workspaceId });
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

  /** The runs that are held by that bearer token, whether they were cancelled meanwhile or not. */
  heldBy(bearerTokenId: string): Promise<Run[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where('run.claimTokenHash IS NOT NULL AND run.claimedByTokenId = :bearerTokenId', { bearerTokenId })
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
