import { EntitySchema } from 'typeorm';
import { boolean, instant, jsonObject, text } from '../database/columns.js';
import type { JsonObject } from '../database/json.js';

/** One conversation of an agent about a task. */
export interface Session {
  readonly id: string;
  readonly taskId: string;
  readonly workspaceId: string;
  /** Null for a row that belongs to no agent and so names no pair. */
  readonly agentProfileId: string | null;
  /** The concrete profile with which turns are launched; it may change between turns, the agent does not. */
  readonly executionProfileId: string;
  readonly executorId: string | null;
  readonly state: string;
  readonly metadata: JsonObject;
  readonly isPrimary: boolean;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
}

/**
 * No index over the pair, unique or not, and no column that tells office rows apart
 * (AC-OFFICE-SESSION-IDENTITY-004.1, .5): kanban flows hold two live rows for one pair on purpose.
 */
export const SessionSchema = new EntitySchema<Session>({
  name: 'task_sessions',
  columns: {
    id: text('id', { primary: true }),
    taskId: text('task_id'),
    workspaceId: text('workspace_id'),
    agentProfileId: text('agent_profile_id', { nullable: true }),
    executionProfileId: text('execution_profile_id'),
    executorId: text('executor_id', { nullable: true }),
    state: text('state'),
    metadata: jsonObject('metadata'),
    isPrimary: boolean('is_primary'),
    startedAt: instant('started_at'),
    updatedAt: instant('updated_at'),
    completedAt: instant('completed_at', { nullable: true }),
  },
  indices: [
    { name: 'task_sessions_task', columns: ['taskId'] },
    { name: 'task_sessions_state', columns: ['state'] },
    { name: 'task_sessions_task_state', columns: ['taskId', 'state'] },
  ],
});
