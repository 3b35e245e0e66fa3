import { Injectable } from '@nestjs/common';
import { byId, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { type Agent, AgentSchema } from './agent.schema.js';

/** Every statement over agents. A deleted agent is found by none of them. */
@Injectable()
export class AgentsRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(agent: Agent): Promise<void> {
    await this.transactions.writing().insert(AgentSchema, agent);
  }

  find(id: string): Promise<Agent | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.id = :id AND agent.deletedAt IS NULL', { id })
      .getOne();
  }

  /** Of one workspace, or of all when it is null; by id, after the given one. */
  page(workspaceId: string | null, after: string | null, limit: number): Promise<Agent[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(AgentSchema, 'agent')
      .where('agent.deletedAt IS NULL');
    return byId(onlyWhere(query, { workspaceId: workspaceId ?? undefined }), after, limit);
  }

  async update(id: string, changes: Partial<Agent>): Promise<void> {
    await this.transactions.writing().update(AgentSchema, { id }, changes);
  }
}
