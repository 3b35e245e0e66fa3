import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { Dialect } from '../database/dialect.js';
import { byId, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import type { SessionPair } from './session.errors.js';
import { type Session, SessionSchema } from './session.schema.js';
import { TERMINAL_STATES } from './session-state.js';
import type { SessionStore } from './session-store.js';

/** Which sessions a list shows; what is left open is not asked. */
export type SessionFilter = Readonly<
  Partial<Record<'workspaceId' | 'agentProfileId' | 'state', string | undefined>>
>;

/** Every statement over sessions. The terminal states in SQL are bound from the one list that the code has. */
@Injectable()
export class SessionsRepository implements SessionStore {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  async insert(session: Session): Promise<void> {
    await this.transactions.writing().insert(SessionSchema, session);
  }

  find(id: string): Promise<Session | null> {
    return this.transactions.reading().findOneBy(SessionSchema, { id });
  }

  /** Keeps everybody else from changing the session until the transaction ends. */
  async lock(id: string): Promise<void> {
    const query = this.transactions
      .writing()
      .createQueryBuilder(SessionSchema, 'session')
      .where('session.id = :id', { id });
    await this.dialect.forUpdate(query).getOne();
  }

  /** The pair's session that a caller can use, if any: live before terminal, then newest, then greatest id. */
  findPreferred({ taskId, agentProfileId }: SessionPair): Promise<Session | null> {
    if (taskId === '' || agentProfileId === '') return Promise.resolve(null);
    return this.transactions
      .reading()
      .createQueryBuilder(SessionSchema, 'session')
      .addSelect('CASE WHEN session.state IN (:...terminal) THEN 1 ELSE 0 END', 'liveness')
      .setParameters({ terminal: TERMINAL_STATES })
      .where('session.taskId = :taskId AND session.agentProfileId = :agentProfileId', {
        taskId,
        agentProfileId,
      })
      .orderBy('liveness')
      .addOrderBy('session.startedAt', 'DESC')
      .addOrderBy('session.id', 'DESC')
      .limit(1)
      .getOne();
  }

  /** Whether the pair has a live session, whoever made it. */
  hasLive({ taskId, agentProfileId }: SessionPair): Promise<boolean> {
    return this.allLiveOf(agentProfileId).andWhere('session.taskId = :taskId', { taskId }).getExists();
  }

  /** All live sessions of an agent. */
  liveOf(agentProfileId: string): Promise<Session[]> {
    return this.allLiveOf(agentProfileId).getMany();
  }

  /** All sessions of a task, newest first. */
  list(taskId: string): Promise<Session[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(SessionSchema, 'session')
      .where('session.taskId = :taskId', { taskId })
      .orderBy('session.startedAt', 'DESC')
      .addOrderBy('session.id', 'DESC')
      .getMany();
  }

  /** By id, after the given one. */
  page(filter: SessionFilter, after: string | null, limit: number): Promise<Session[]> {
    const query = this.transactions.reading().createQueryBuilder(SessionSchema, 'session');
    return byId(onlyWhere(query, filter), after, limit);
  }

  /** Changes a session that is still in the expected state, and answers whether it was. */
  async update(id: string, expectedState: string, changes: Partial<Session>): Promise<boolean> {
    const result = await this.transactions
      .writing()
      .update(SessionSchema, { id, state: expectedState }, changes);
    return result.affected === 1;
  }

  private allLiveOf(agentProfileId: string): SelectQueryBuilder<Session> {
    return this.transactions
      .reading()
      .createQueryBuilder(SessionSchema, 'session')
      .where('session.agentProfileId = :agentProfileId', { agentProfileId })
      .andWhere('session.state NOT IN (:...terminal)', { terminal: TERMINAL_STATES });
  }
}
