import type { Transactions } from '../../../src/database/transactions.js';
import { PostgresDialect } from '../../../src/database/dialects/postgres.dialect.js';
import type { StoredDecision } from '../../../src/decisions/decision.schema.js';
import { DecisionsRepository } from '../../../src/decisions/decisions.repository.js';
import { EventRepository } from '../../../src/events/event.repository.js';
import type { StoredEvent } from '../../../src/events/event.schema.js';
import { sessionsOf } from './memory-connections.js';

type Fold = Pick<StoredDecision, 'agentProfileId' | 'taskId' | 'reason' | 'outcome' | 'error'>;

/** The kept decisions, over the store in memory. */
export class MemoryDecisions extends DecisionsRepository {
  private readonly sessions;

  constructor(transactions: Transactions) {
    super(transactions);
    this.sessions = sessionsOf(transactions);
  }

  override insert(decision: StoredDecision): Promise<void> {
    return this.sessions.writing().statement('keep a decision', (session) => {
      session.store.decisions.insert(session, decision);
    });
  }

  override async findEqual(fold: Fold, after: number): Promise<StoredDecision | null> {
    const equal = await this.sessions.writing().statement('look for an equal decision', (session) =>
      session.store.decisions
        .seenBy(session)
        .filter((kept) => kept.firstAt > after && isEqual(kept, fold))
        .sort((one, other) => other.firstAt - one.firstAt)
        .at(0),
    );
    return equal ?? null;
  }

  override async addTo(
    id: string,
    latest: Pick<StoredDecision, 'lastAt' | 'gate' | 'actorType' | 'actorId' | 'runId' | 'allowance'>,
  ): Promise<void> {
    await this.sessions.writing().statement('count an equal decision', (session) =>
      session.store.decisions.update(
        session,
        (kept) => kept.id === id,
        (kept) => ({ ...kept, ...latest, count: kept.count + 1 }),
      ),
    );
  }
}

/** The events as they are told, over the store in memory. */
export class MemoryEvents extends EventRepository {
  private readonly sessions;

  constructor(transactions: Transactions) {
    super(transactions, new PostgresDialect());
    this.sessions = sessionsOf(transactions);
  }

  override insert(event: StoredEvent): Promise<void> {
    return this.sessions.writing().statement('tell an event', (session) => {
      session.store.events.insert(session, event);
    });
  }
}

function isEqual(kept: StoredDecision, { agentProfileId, taskId, reason, outcome, error }: Fold): boolean {
  const isSameWake =
    kept.agentProfileId === agentProfileId && kept.taskId === taskId && kept.reason === reason;
  return isSameWake && kept.outcome === outcome && kept.error === error;
}
