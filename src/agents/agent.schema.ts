import { EntitySchema } from 'typeorm';
import { boolean, instant, integer, json, text } from '../database/columns.js';

export const AGENT_ROLES = ['ceo', 'worker', 'specialist', 'assistant', 'security', 'qa', 'devops'] as const;
export type AgentRole = (typeof AGENT_ROLES)[number];

/** The statuses that can be stored. `working` is none of them: it is read off a claimed run. */
export const AGENT_STATUSES = ['idle', 'paused', 'stopped', 'pending_approval'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export const AGENT_EXECUTORS = ['command', 'acp'] as const;
export const PERMISSION_POLICIES = ['refuse', 'allow'] as const;

/** An agent of a workspace, and how its program is run. */
export interface Agent {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly role: AgentRole;
  readonly status: AgentStatus;
  readonly canAssignTasks: boolean;
  /** A program and its arguments, never a shell's command line; null for an agent that only remote workers run. */
  readonly command: readonly string[] | null;
  readonly executor: (typeof AGENT_EXECUTORS)[number];
  readonly executionProfileId: string;
  readonly permissionPolicy: (typeof PERMISSION_POLICIES)[number];
  readonly workingDirectory: string | null;
  /** Names of the server's environment variables that are passed on. */
  readonly env: readonly string[];
  /** How long a turn may take, in seconds. */
  readonly maxRunSeconds: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly deletedAt: number | null;
}

/** In SQL, of a table or alias: whether the agent may be woken and at work. */
export function runnable(agent: string): string {
  return `(${agent}.status = 'idle' AND ${agent}.deleted_at IS NULL)`;
}

export const AgentSchema = new EntitySchema<Agent>({
  name: 'agents',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    name: text('name'),
    role: text('role'),
    status: text('status'),
    canAssignTasks: boolean('can_assign_tasks'),
    command: json('command', { nullable: true }),
    executor: text('executor'),
    executionProfileId: text('execution_profile_id'),
    permissionPolicy: text('permission_policy'),
    workingDirectory: text('working_directory', { nullable: true }),
    env: json('env'),
    maxRunSeconds: integer('max_run_seconds'),
    createdAt: instant('created_at'),
    updatedAt: instant('updated_at'),
    deletedAt: instant('deleted_at', { nullable: true }),
  },
  indices: [
    { name: 'agents_workspace', columns: ['workspaceId', 'id'] },
    { name: 'agents_deleted', columns: ['deletedAt'], where: 'deleted_at IS NOT NULL' },
  ],
});
