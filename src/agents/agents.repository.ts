import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { Dialect } from '../database/dialect.js';
import { byId, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { type Agent, type AgentRole, AgentSchema, runnable } from './agent.schema.js';

/** Every statement over agents. A deleted agent is found only by those that say so. */
@Injectable()
export class AgentsRepository {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  async insert(agent: Agent): Promise<void> {
    await this.transactions.writing().insert(AgentSchema, agent);
  }

  find(id: string): Promise<Agent | null> {
    return this.one(this.transactions.reading(), id).getOne();
  }

  /** Finds the agent and keeps it from being deleted until the transaction ends. */
  keep(id: string): Promise<Agent | null> {
    return this.dialect.forKeeping(this.one(this.transactions.writing(), id)).getOne();
  }

  /**
   * Keeps an agent of ours from being deleted until the transaction ends; one that a host knows by itself needs no keeping.
   *
   * @throws NotFoundError for one that is deleted.
   */
  async keepUnlessUnknown(id: string): Promise<void> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.id = :id', { id });
    const agent = await this.dialect.forKeeping(query).getOne();
    if (agent !== null && agent.deletedAt !== null) throw new NotFoundError('agent');
  }

  /** Finds the agent and keeps everybody else from keeping, claiming for or changing it until the transaction ends. */
  lock(id: string): Promise<Agent | null> {
    return this.dialect.forUpdate(this.one(this.transactions.writing(), id)).getOne();
  }

  /** Of one workspace, or of all when it is null; by id, after the given one. */
  page(workspaceId: string | null, after: string | null, limit: number): Promise<Agent[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.deletedAt IS NULL');
    return byId(onlyWhere(query, { workspaceId: workspaceId ?? undefined }), after, limit);
  }

  /** The workspace's first agent of that role that may be woken. */
  oldestRunnable(workspaceId: string, role: AgentRole): Promise<Agent | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.workspaceId = :workspaceId AND agent.role = :role', { workspaceId, role })
      .andWhere(runnable('agent'))
      .orderBy('agent.createdAt')
      .addOrderBy('agent.id')
      .limit(1)
      .getOne();
  }

  /** Agents that were deleted after the instant. */
  deletedSince(instant: number): Promise<Agent[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.deletedAt > :instant', { instant })
      .getMany();
  }

  async update(id: string, changes: Partial<Agent>): Promise<void> {
    await this.transactions.writing().update(AgentSchema, { id }, changes);
  }

  private one(manager: EntityManager, id: string): SelectQueryBuilder<Agent> {
    return manager
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.id = :id AND agent.deletedAt IS NULL', { id });
  }
}
