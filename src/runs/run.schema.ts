import { EntitySchema } from 'typeorm';
import { boolean, instant, integer, text } from '../database/columns.js';

export const RUN_STATUSES = ['queued', 'claimed', 'finished', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** In SQL: that a run has ended, in the words of the index `runs_ended`. */
export const ENDED = `status IN ('finished', 'failed', 'cancelled')`;

/** A row of the queue: one admitted wake, or several that were merged. */
export interface Run {
  readonly id: string;
  readonly workspaceId: string;
  readonly agentProfileId: string;
  readonly reason: string;
  /** The latest wake's payload, as received. */
  readonly payload: string;
  /** The task that the payload names: `''` for none, null for a value that equals no task's id. */
  readonly taskId: string | null;
  readonly actorType: string | null;
  readonly actorId: string | null;
  readonly status: RunStatus;
  /** How many wakes this run answers: 1 when nothing was merged. */
  readonly coalescedCount: number;
  /** The key of the wake that made the row; null when it had none. */
  readonly idempotencyKey: string | null;
  /** Whose key that is: `''` for producers, administrators and people, else the agent that chose it. */
  readonly keyScope: string;
  /** The instant of admission, by which windows are measured. Nothing ever moves it. */
  readonly requestedAt: number;
  readonly claimedAt: number | null;
  readonly finishedAt: number | null;
  readonly retryCount: number;
  /** How often the run was started. */
  readonly attempt: number;
  readonly scheduledRetryAt: number | null;
  readonly sessionId: string | null;
  /** The profile with which its turn was launched. */
  readonly executionProfileId: string | null;
  readonly workerId: string | null;
  /** Set while somebody holds the run, and on a cancelled one until its worker has let go. */
  readonly claimTokenHash: string | null;
  /** The bearer token that claimed, without which the claim's own token opens nothing. */
  readonly claimedByTokenId: string | null;
  readonly leaseExpiresAt: number | null;
  readonly interruptRequestedAt: number | null;
  readonly outputSummary: string | null;
  readonly errorMessage: string | null;
  readonly cancelReason: string | null;
  /** True of a run that a person cancelled, or whose failure its worker called final: its task is not started again unasked. */
  readonly isConclusive: boolean | null;
  /** The ended run that a person had tried again by this one. */
  readonly retryOf: string | null;
}

/** One of the wakes that a run answers, kept from the first merge on: a wake alone is its run's own row. */
export interface RunWake {
  readonly id: string;
  readonly runId: string;
  readonly workspaceId: string;
  readonly payload: string;
  readonly actorType: string | null;
  readonly actorId: string | null;
  readonly idempotencyKey: string | null;
  readonly keyScope: string;
  readonly requestedAt: number;
}

const KEY_COLUMNS = ['workspace_id', 'key_scope', 'idempotency_key'] as const;
const KEY_PROPERTIES: string[] = ['workspaceId', 'keyScope', 'idempotencyKey'];

/** The arbiter of a race between two wakes with one key. */
export const RUN_KEY_INDEX = { name: 'runs_key', table: 'runs', columns: KEY_COLUMNS } as const;

/** The same for keys that were merged away. */
export const RUN_WAKE_KEY_INDEX = {
  name: 'run_wakes_key',
  table: 'run_wakes',
  columns: KEY_COLUMNS,
} as const;

export const RunSchema = new EntitySchema<Run>({
  name: 'runs',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    agentProfileId: text('agent_profile_id'),
    reason: text('reason'),
    payload: text('payload'),
    taskId: text('task_id', { nullable: true }),
    actorType: text('actor_type', { nullable: true }),
    actorId: text('actor_id', { nullable: true }),
    status: text('status'),
    coalescedCount: integer('coalesced_count'),
    idempotencyKey: text('idempotency_key', { nullable: true }),
    keyScope: text('key_scope'),
    requestedAt: instant('requested_at'),
    claimedAt: instant('claimed_at', { nullable: true }),
    finishedAt: instant('finished_at', { nullable: true }),
    retryCount: integer('retry_count'),
    attempt: integer('attempt'),
    scheduledRetryAt: instant('scheduled_retry_at', { nullable: true }),
    sessionId: text('session_id', { nullable: true }),
    executionProfileId: text('execution_profile_id', { nullable: true }),
    workerId: text('worker_id', { nullable: true }),
    claimTokenHash: text('claim_token_hash', { nullable: true }),
    claimedByTokenId: text('claimed_by_token_id', { nullable: true }),
    leaseExpiresAt: instant('lease_expires_at', { nullable: true }),
    interruptRequestedAt: instant('interrupt_requested_at', { nullable: true }),
    outputSummary: text('output_summary', { nullable: true }),
    errorMessage: text('error_message', { nullable: true }),
    cancelReason: text('cancel_reason', { nullable: true }),
    isConclusive: boolean('is_conclusive', { nullable: true }),
    retryOf: text('retry_of', { nullable: true }),
  },
  indices: [
    { name: RUN_KEY_INDEX.name, columns: KEY_PROPERTIES, unique: true, where: 'idempotency_key IS NOT NULL' },
    {
      name: 'runs_one_held_per_agent',
      columns: ['agentProfileId'],
      unique: true,
      where: `status = 'claimed' OR claim_token_hash IS NOT NULL`,
    },
    {
      name: 'runs_allowance',
      columns: ['workspaceId', 'taskId', 'reason', 'requestedAt'],
      where: `actor_type = 'agent'`,
    },
    {
      name: 'runs_coalescing',
      columns: ['agentProfileId', 'reason', 'taskId', 'requestedAt'],
      where: `status = 'queued'`,
    },
    { name: 'runs_head', columns: ['agentProfileId', 'requestedAt', 'id'], where: `status = 'queued'` },
    {
      name: 'runs_retries',
      columns: ['agentProfileId', 'scheduledRetryAt'],
      where: `status = 'queued' AND scheduled_retry_at IS NOT NULL`,
    },
    { name: 'runs_ended', columns: ['agentProfileId', 'requestedAt', 'id'], where: ENDED },
    { name: 'runs_newest', columns: ['workspaceId', 'requestedAt', 'id'] },
    { name: 'runs_task', columns: ['workspaceId', 'taskId', 'requestedAt'], where: `task_id <> ''` },
    { name: 'runs_retry_of', columns: ['retryOf'], where: 'retry_of IS NOT NULL' },
  ],
});

export const RunWakeSchema = new EntitySchema<RunWake>({
  name: 'run_wakes',
  columns: {
    id: text('id', { primary: true }),
    runId: text('run_id'),
    workspaceId: text('workspace_id'),
    payload: text('payload'),
    actorType: text('actor_type', { nullable: true }),
    actorId: text('actor_id', { nullable: true }),
    idempotencyKey: text('idempotency_key', { nullable: true }),
    keyScope: text('key_scope'),
    requestedAt: instant('requested_at'),
  },
  indices: [
    {
      name: RUN_WAKE_KEY_INDEX.name,
      columns: KEY_PROPERTIES,
      unique: true,
      where: 'idempotency_key IS NOT NULL',
    },
    { name: 'run_wakes_run', columns: ['runId', 'requestedAt', 'id'] },
  ],
});
