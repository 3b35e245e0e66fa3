import type { JsonObject } from '../database/json.js';

/** Everything that can be told about an office, in the order of the contract. */
export const EVENT_TYPES = [
  'task.created',
  'task.updated',
  'session.created',
  'session.state_changed',
  'session.interrupt_requested',
  'run.queued',
  'run.claimed',
  'run.finished',
  'run.failed',
  'run.cancelled',
  'workspace.paused',
  'workspace.resumed',
  'run.retry_scheduled',
  'run.failure_unheard',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** What an event is about. */
export interface EventSubject {
  readonly taskId?: string;
  readonly runId?: string;
  readonly sessionId?: string;
  readonly agentProfileId?: string;
}

/** An event as its author states it; the log adds id, instant and number. */
export interface NewEvent {
  readonly type: EventType;
  readonly workspaceId: string;
  readonly subject: EventSubject;
  readonly data?: JsonObject;
}
