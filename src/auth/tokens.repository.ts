import { Injectable } from '@nestjs/common';
import { byId } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { type Token, TokenSchema } from './token.schema.js';

/** Every statement over tokens. */
@Injectable()
export class TokensRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(token: Token): Promise<void> {
    await this.transactions.writing().insert(TokenSchema, token);
  }

  find(id: string): Promise<Token | null> {
    return this.transactions.reading().findOneBy(TokenSchema, { id });
  }

  hasAdmin(): Promise<boolean> {
    return this.transactions.reading().existsBy(TokenSchema, { kind: 'admin' });
  }

  /** By id, after the given one; never those that belong to a run. */
  page(workspaceId: string, after: string | null, limit: number): Promise<Token[]> {
    const query = this.transactions
      .reading()
      .createQueryBuilder(TokenSchema, 'token')
      .where('token.workspaceId = :workspaceId AND token.runId IS NULL', { workspaceId });
    return byId(query, after, limit);
  }

  async delete(id: string): Promise<void> {
    await this.transactions.writing().delete(TokenSchema, { id });
  }

  async deleteOfRun(runId: string): Promise<void> {
    await this.transactions.writing().delete(TokenSchema, { runId });
  }

  async deleteOfAgent(agentProfileId: string): Promise<void> {
    await this.transactions.writing().delete(TokenSchema, { agentProfileId });
  }

  async extendOfRun(runId: string, expiresAt: number): Promise<void> {
    await this.transactions.writing().update(TokenSchema, { runId }, { expiresAt });
  }
}
