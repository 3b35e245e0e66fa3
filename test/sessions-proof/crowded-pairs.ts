import type { CrowdedPair } from '../support/crowd-process.js';
import type { Outsider } from '../support/outsider.js';
import { pick } from '../support/pick.js';

/** What a pair has behind it, or what is done to it meanwhile; those that have nothing come more often. */
const KINDS = ['new', 'history', 'new', 'idle', 'ends once', 'legacy', 'ends often', 'new'] as const;

export type PairKind = (typeof KINDS)[number];

/** A pair by where it comes from. */
export interface KnownPair {
  /** Which round of the kinds it is of: the processes take turns by it. */
  readonly round: number;
  readonly kind: PairKind;
  readonly taskId: string;
  readonly agentProfileId: string;
}

/** The rows that each kind has from before, as state and instant of beginning. */
const ROWS: Readonly<Record<PairKind, readonly (readonly [state: string, startedAt: number])[]>> = {
  new: [],
  history: [
    ['COMPLETED', 3],
    ['FAILED', 2],
    ['CANCELLED', 1],
  ],
  idle: [
    ['IDLE', 1],
    ['COMPLETED', 2],
  ],
  legacy: [
    ['COMPLETED', 4],
    ['RUNNING', 2],
    ['WAITING_FOR_INPUT', 3],
    ['CREATED', 1],
  ],
  'ends once': [['COMPLETED', 1]],
  'ends often': [],
};

/** So many pairs of all kinds. Two at a time share a task: they wait for one another and are not taken for each other. */
export function pairsOf(count: number): readonly KnownPair[] {
  return Array.from({ length: count }, (_, number) => ({
    round: Math.floor(number / KINDS.length),
    kind: pick(KINDS, number % KINDS.length),
    taskId: `task-${Math.floor(number / 2)}`,
    agentProfileId: `agent-${number % 2}`,
  }));
}

/** The id of a row from before, which says its state. */
export function oldId({ taskId, agentProfileId }: KnownPair, state: string): string {
  return `${taskId}-${agentProfileId}-${state}`;
}

/** The pair's sessions end once, at the hands of one process, or often, at the hands of all. */
export function crowded({ kind, taskId, agentProfileId }: KnownPair, isItsProcess: boolean): CrowdedPair {
  const once = kind === 'ends once' && isItsProcess ? 'once' : 'never';
  return { taskId, agentProfileId, ending: kind === 'ends often' ? 'often' : once };
}

/** Writes the tasks and the rows from before, by SQL. */
export async function writePairs(outsider: Outsider, pairs: readonly KnownPair[]): Promise<void> {
  await outsider.query('BEGIN');
  for (const id of new Set(pairs.map(({ taskId }) => taskId))) {
    await outsider.query(
      `INSERT INTO tasks (id, workspace_id, title, kind, state, priority, assignment_generation, created_at, updated_at)
         VALUES ($1, 'workspace', 'Task', 'office', 'TODO', 'medium', 0, 0, 0)`,
      [id],
    );
  }
  for (const pair of pairs) {
    for (const [state, startedAt] of ROWS[pair.kind]) {
      await outsider.query(
        `INSERT INTO task_sessions (id, task_id, workspace_id, agent_profile_id, execution_profile_id, state, metadata,
           is_primary, started_at, updated_at)
           VALUES ($1, $2, 'workspace', $3, 'profile', $4, '{}', false, $5, $5)`,
        [oldId(pair, state), pair.taskId, pair.agentProfileId, state, startedAt],
      );
    }
  }
  await outsider.query('COMMIT');
}
