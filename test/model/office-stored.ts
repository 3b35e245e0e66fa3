import { Transactions } from '../../src/database/transactions.js';
import type { TestReveille } from '../support/reveille.js';

type Row = Readonly<Record<string, string | number | boolean | null>>;

/** The statements by which an office is read, one a table and nothing that the model does not know of. */
const STATEMENTS = {
  tasks: 'id, state, assignee_agent_profile_id AS assignee, assignment_generation, updated_at FROM tasks',
  notes:
    'task_id, assignment_generation, agent_profile_id AS agent, reason, payload, idempotency_key AS key, due_at, created_at FROM wake_notes',
  runs: 'id, agent_profile_id AS agent, reason, payload, task_id, actor_type, actor_id, status, coalesced_count AS count, idempotency_key AS key, requested_at, attempt, retry_count, scheduled_retry_at, lease_expires_at, cancel_reason, is_conclusive, interrupt_requested_at IS NOT NULL AS is_interrupted FROM runs',
  ledger: 'run_id, payload, idempotency_key AS key, requested_at FROM run_wakes',
  decisions:
    'agent_profile_id AS agent, task_id, reason, outcome, error, first_at, last_at, count FROM decisions',
} as const;

type Table = keyof typeof STATEMENTS;

export type Line = readonly unknown[];

export interface StoredOffice {
  readonly tasks: readonly Line[];
  readonly notes: readonly Line[];
  readonly runs: readonly Line[];
  readonly runIds: readonly string[];
  /** By the place of the run among all runs, in no order of their own. */
  readonly ledger: readonly Line[];
  readonly decisions: readonly Line[];
}

/** Everything of the workspace that the model knows of, in the order in which it was made. */
export async function storedOffice(reveille: TestReveille, workspaceId: string): Promise<StoredOffice> {
  const read = (table: Table): Promise<Row[]> =>
    reveille
      .get(Transactions)
      .reading()
      .query<Row[]>(`SELECT ${STATEMENTS[table]} WHERE workspace_id = $1 ORDER BY id`, [workspaceId]);
  const [tasks, notes, runs, ledger, decisions] = await Promise.all(
    (['tasks', 'notes', 'runs', 'ledger', 'decisions'] as const).map(read),
  );
  const runIds = (runs ?? []).map(({ id }) => String(id));
  return {
    tasks: lines(tasks),
    notes: lines(notes),
    runs: lines((runs ?? []).map(withoutId)),
    runIds,
    ledger: inOrder(
      lines(
        (ledger ?? []).map(({ run_id: run, ...rest }) => ({ run: runIds.indexOf(String(run)), ...rest })),
      ),
    ),
    decisions: lines(decisions),
  };
}

export function inOrder(rows: readonly Line[]): readonly Line[] {
  return [...rows].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

function lines(rows: readonly Row[] = []): readonly Line[] {
  return rows.map(line);
}

function withoutId(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([column]) => column !== 'id'));
}

/** PostgreSQL's driver hands out instants as text, SQLite's booleans as numbers. A payload is what it says. */
function line(row: Row): Line {
  return Object.entries(row).map(([column, value]) => {
    if (column === 'payload') return JSON.parse(String(value)) as unknown;
    if (column.startsWith('is_')) return Boolean(value);
    return value !== null && /_(at)$/.test(column) ? Number(value) : value;
  });
}
