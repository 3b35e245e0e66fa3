import { EntitySchema } from 'typeorm';
import { instant, integer, json, text } from '../database/columns.js';
import type { JsonObject } from '../database/json.js';

/** A decision that made no run, kept so that "why was nobody woken?" has an answer. Equal ones are one row with a count. */
export interface StoredDecision {
  readonly id: string;
  readonly workspaceId: string;
  readonly agentProfileId: string;
  /** As a run's: `''` when the payload names no task, null when what it names equals no id. */
  readonly taskId: string | null;
  readonly reason: string;
  readonly outcome: string;
  /** Why it could not be decided; null for a decision proper. */
  readonly error: string | null;
  /** The step that stopped it. */
  readonly gate: string | null;
  readonly actorType: string | null;
  readonly actorId: string | null;
  /** The run that it was merged into, or that has its key. */
  readonly runId: string | null;
  readonly allowance: JsonObject | null;
  /** How many wakes the row stands for. */
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export const DecisionSchema = new EntitySchema<StoredDecision>({
  name: 'decisions',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    agentProfileId: text('agent_profile_id'),
    taskId: text('task_id', { nullable: true }),
    reason: text('reason'),
    outcome: text('outcome'),
    error: text('error', { nullable: true }),
    gate: text('gate', { nullable: true }),
    actorType: text('actor_type', { nullable: true }),
    actorId: text('actor_id', { nullable: true }),
    runId: text('run_id', { nullable: true }),
    allowance: json('allowance', { nullable: true }),
    count: integer('count'),
    firstAt: instant('first_at'),
    lastAt: instant('last_at'),
  },
  indices: [
    { name: 'decisions_fold', columns: ['agentProfileId', 'reason', 'outcome', 'firstAt'] },
    { name: 'decisions_newest', columns: ['workspaceId', 'firstAt', 'id'] },
    { name: 'decisions_oldest', columns: ['lastAt'] },
  ],
});
