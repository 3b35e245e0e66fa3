import { AgentsRepository } from '../../src/agents/agents.repository.js';
import { Dialect, primaryKeyOf } from '../../src/database/dialect.js';
import { PostgresDialect } from '../../src/database/dialects/postgres.dialect.js';
import { PostgresTransactions } from '../../src/database/postgres-transactions.js';
import { Transactions } from '../../src/database/transactions.js';
import { DecisionsRepository } from '../../src/decisions/decisions.repository.js';
import { ClaimsRepository } from '../../src/runs/claims.repository.js';
import { QueueHeads } from '../../src/runs/queue-heads.js';
import { RUN_KEY_INDEX, RUN_WAKE_KEY_INDEX } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { OPEN_PAUSE_INDEX } from '../../src/workspaces/workspace.schema.js';
import { WorkspacesRepository } from '../../src/workspaces/workspaces.repository.js';
import { asOutsider } from '../support/outsider.js';
import type { TestReveille } from '../support/reveille.js';
import { anIdleAgent } from '../support/rows.js';
import { MemoryClaims } from './store/memory-claims.js';
import { MemoryDataSource, sessionsOf } from './store/memory-connections.js';
import { MemoryAgents, MemoryWorkspaces } from './store/memory-office.js';
import { MemoryDecisions } from './store/memory-records.js';
import { MemoryRuns } from './store/memory-runs.js';
import { MemoryStore } from './store/memory-store.js';
import type { Session } from './store/session.js';

const INDEXES = [
  RUN_KEY_INDEX,
  RUN_WAKE_KEY_INDEX,
  OPEN_PAUSE_INDEX,
  primaryKeyOf('runs'),
  primaryKeyOf('run_wakes'),
  primaryKeyOf('workspace_pauses'),
  primaryKeyOf('decisions'),
  { name: 'runs_one_held_per_agent', table: 'runs', columns: ['agent_profile_id'] },
];

/** The statements of admission over one store, so that two stores can be asked the same. */
export interface Bench {
  readonly transactions: Transactions;
  readonly dialect: Dialect;
  readonly agents: AgentsRepository;
  readonly workspaces: WorkspacesRepository;
  readonly runs: RunsRepository;
  readonly claims: ClaimsRepository;
  readonly decisions: DecisionsRepository;
  addAgent(id: string, workspaceId: string): Promise<void>;
  /** Brings up to date what is kept beside the queue; the store in memory keeps nothing. */
  catchUp(): Promise<void>;
  /** As an operator would. */
  deleteRun(id: string): Promise<void>;
  /** Whether anybody waits for what somebody else holds. */
  isAnybodyWaiting(): Promise<boolean>;
}

/** The repositories as they are, on a database. */
export function realBench(reveille: TestReveille): Bench {
  const transactions = reveille.get(Transactions);
  const agents = reveille.get(AgentsRepository);
  return {
    transactions,
    dialect: reveille.get(Dialect),
    agents,
    workspaces: reveille.get(WorkspacesRepository),
    runs: reveille.get(RunsRepository),
    claims: reveille.get(ClaimsRepository),
    decisions: reveille.get(DecisionsRepository),
    addAgent: (id, workspaceId) => transactions.run(() => agents.insert(anIdleAgent({ id, workspaceId }))),
    catchUp: () => reveille.get(QueueHeads).catchUp(),
    deleteRun: async (id) => {
      await transactions.writing().query('DELETE FROM runs WHERE id = $1', [id]);
    },
    isAnybodyWaiting: () =>
      asOutsider(reveille, async (outsider) => {
        const waiting = await outsider.query(`
          SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`);
        return waiting.length > 0;
      }),
  };
}

/**
 * The same over a store in memory, where everybody's turn comes at once. One is enough for a whole file: the context
 * that its transactions make for themselves is carried along by every promise of the process from then on.
 */
export function memoryBench(): Bench {
  const store = new MemoryStore('waits');
  const sessions: Session[] = [];
  const source = new MemoryDataSource();
  source.serve({
    store,
    steps: { turn: () => Promise.resolve(), failure: () => null, done: () => undefined },
    opened: (session) => sessions.push(session),
  });
  const transactions = new PostgresTransactions(source.asDataSource());
  const dialect = new PostgresDialect();
  return {
    transactions,
    dialect,
    agents: new MemoryAgents(transactions, dialect),
    workspaces: new MemoryWorkspaces(transactions),
    runs: new MemoryRuns(transactions),
    claims: new MemoryClaims(transactions),
    decisions: new MemoryDecisions(transactions),
    addAgent: (id, workspaceId) => {
      store.agents.seed(anIdleAgent({ id, workspaceId }));
      return Promise.resolve();
    },
    catchUp: () => Promise.resolve(),
    deleteRun: (id) =>
      sessionsOf(transactions)
        .writing()
        .statement('delete a run', (session) => {
          store.deleteRun(session, id);
        }),
    isAnybodyWaiting: () => Promise.resolve(sessions.some(({ isWaiting }) => isWaiting)),
  };
}

/** What the work answers, or by which index or lock it was refused. */
export async function answerOf(bench: Bench, work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    const violated = INDEXES.find((index) => bench.dialect.violates(error, index));
    if (violated !== undefined) return `violates ${violated.name}`;
    if (bench.dialect.isLockTimeout(error)) return 'gets no lock';
    throw error;
  }
}
