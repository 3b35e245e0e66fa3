import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore, sessionOf } from './session-store.js';

/** What belongs to the provider of the profile that a session leaves; any other key survives the change. */
const PROVIDER_KEYS = [
  'acp_session_id',
  'session_mode',
  'runtime_config',
  'runtime_config_overrides',
  'acp_config_baseline',
  'acp_model_state',
  'context_window',
  'last_agent_error',
] as const;

/** Takes an existing session into use. It writes to that one row and to nothing else. */
@Injectable()
export class SessionReuse {
  constructor(
    private readonly transactions: Transactions,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly records: SessionRecords,
    private readonly clock: Clock,
  ) {}

  /** The session, on the wanted profile and at work, or null when it is over or ends meanwhile. */
  async adopt(found: Session | null, executionProfileId: string): Promise<Session | null> {
    if (found === null || isTerminal(found.state)) return null;
    const bound = await this.rebind(found, executionProfileId);
    return bound === null ? null : this.wake(bound);
  }

  /** Changes the profile, which forgets what belonged to the old one; again as long as the state moves under it. */
  private async rebind(session: Session, executionProfileId: string): Promise<Session | null> {
    let current: Session | null = session;
    while (current !== null && !isTerminal(current.state)) {
      if (current.executionProfileId === executionProfileId) return current;
      const changes = { executionProfileId, metadata: withoutProvider(current), updatedAt: this.clock.now() };
      const { id, taskId, state } = current;
      if (await this.transactions.run(() => this.store.update(id, state, changes)))
        return { ...current, ...changes };
      current = await sessionOf(this.store, taskId, id);
    }
    return null;
  }

  /** A session between turns goes back to work. When it moves in the same moment, what it has become is judged once. */
  private async wake(session: Session): Promise<Session | null> {
    if (session.state !== 'IDLE') return session;
    const woken = await this.records.move(session, 'RUNNING');
    if (woken !== null) return woken;
    const reloaded = await sessionOf(this.store, session.taskId, session.id);
    if (reloaded === null || isTerminal(reloaded.state)) return null;
    // Bound to another profile meanwhile: each caller has the session as it wrote it itself, where it now stands.
    return reloaded.executionProfileId === session.executionProfileId
      ? reloaded
      : { ...session, state: reloaded.state };
  }
}

function withoutProvider({ metadata }: Session): Session['metadata'] {
  const kept = Object.entries(metadata).filter(([key]) => !PROVIDER_KEYS.some((bound) => bound === key));
  return Object.fromEntries(kept);
}
