import type { Agent } from '../../../src/agents/agent.schema.js';
import type { StoredDecision } from '../../../src/decisions/decision.schema.js';
import type { StoredEvent } from '../../../src/events/event.schema.js';
import { primaryKeyOf } from '../../../src/database/dialect.js';
import { type Run, RUN_KEY_INDEX, RUN_WAKE_KEY_INDEX, type RunWake } from '../../../src/runs/run.schema.js';
import {
  OPEN_PAUSE_INDEX,
  type Workspace,
  type WorkspacePause,
} from '../../../src/workspaces/workspace.schema.js';
import { DatabaseError, LOCK_TIMEOUT } from './database-error.js';
import { Lock } from './lock.js';
import type { Session } from './session.js';
import { type Index, Table } from './table.js';

/** How advisory locks are to be had: by waiting, only when they are free, or not at all. */
export type LockPatience = 'waits' | 'tries' | 'never';

/** The tables that admission and those around it read and write, with their unique indexes. */
export class MemoryStore {
  readonly workspaces = new Table<Workspace>([primaryKey('workspaces')]);
  readonly agents = new Table<Agent>([primaryKey('agents')]);
  readonly pauses = new Table<WorkspacePause>([
    primaryKey('workspace_pauses'),
    {
      name: OPEN_PAUSE_INDEX.name,
      key: ({ workspaceId, releasedAt }) => (releasedAt === null ? workspaceId : null),
    },
  ]);
  readonly runs = new Table<Run>([
    primaryKey('runs'),
    { name: RUN_KEY_INDEX.name, key: keyOf },
    {
      name: 'runs_one_held_per_agent',
      key: ({ status, claimTokenHash, agentProfileId }) =>
        status === 'claimed' || claimTokenHash !== null ? agentProfileId : null,
    },
  ]);
  readonly ledger = new Table<RunWake>([
    primaryKey('run_wakes'),
    { name: RUN_WAKE_KEY_INDEX.name, key: keyOf },
  ]);
  readonly decisions = new Table<StoredDecision>([primaryKey('decisions')]);
  readonly events = new Table<StoredEvent>([primaryKey('events')]);
  /** How often an advisory lock was not to be had. */
  missedLocks = 0;
  private readonly advisory = new Map<string, Lock>();

  constructor(private readonly patience: LockPatience) {}

  /** `pg_advisory_xact_lock`, where a wait that would be given up after a while is given up at once. */
  advisoryLock(session: Session, name: string): void {
    const lock = this.advisory.get(name) ?? new Lock();
    this.advisory.set(name, lock);
    const isFree = lock.holder === null || lock.holder === session;
    if (this.patience === 'never' || (this.patience === 'tries' && !isFree)) {
      throw new DatabaseError(LOCK_TIMEOUT);
    }
    lock.take(session);
  }

  /** With what a run's row takes along: its part of the ledger, by the trigger. */
  deleteRun(session: Session, id: string): void {
    this.runs.lock(session, (run) => run.id === id);
    this.ledger.lock(session, ({ runId }) => runId === id);
    const deleted = this.runs.delete(session, (run) => run.id === id);
    if (deleted > 0) this.ledger.delete(session, ({ runId }) => runId === id);
  }
}

function primaryKey<T extends { readonly id: string }>(table: string): Index<T> {
  return { name: primaryKeyOf(table).name, key: ({ id }) => id };
}

function keyOf({ workspaceId, keyScope, idempotencyKey }: Run | RunWake): string | null {
  return idempotencyKey === null ? null : JSON.stringify([workspaceId, keyScope, idempotencyKey]);
}
