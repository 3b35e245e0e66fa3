import { EntitySchema } from 'typeorm';
import { instant, text } from '../database/columns.js';

/** What an agent's queue has to offer. Never the truth, which is the runs themselves: only where to look for it. */
export interface QueueHead {
  readonly agentProfileId: string;
  readonly workspaceId: string;
  /** When the agent's oldest due run was requested; null when none is due, or the agent is busy. */
  readonly headAt: number | null;
  /** When the first of the runs that wait to be tried again becomes due; null when none does. */
  readonly retryAt: number | null;
}

/** Where triggers note the agents whose queues have changed since their heads were last worked out. */
export const QUEUE_CHANGES = { table: 'queue_changes', column: 'agent_profile_id' } as const;

export const QueueHeadSchema = new EntitySchema<QueueHead>({
  name: 'queue_heads',
  columns: {
    agentProfileId: text('agent_profile_id', { primary: true }),
    workspaceId: text('workspace_id'),
    headAt: instant('head_at', { nullable: true }),
    retryAt: instant('retry_at', { nullable: true }),
  },
  indices: [
    { name: 'queue_heads_next', columns: ['headAt', 'agentProfileId'], where: 'head_at IS NOT NULL' },
    {
      name: 'queue_heads_workspace',
      columns: ['workspaceId', 'headAt', 'agentProfileId'],
      where: 'head_at IS NOT NULL',
    },
    { name: 'queue_heads_retry', columns: ['retryAt'], where: 'retry_at IS NOT NULL' },
  ],
});
