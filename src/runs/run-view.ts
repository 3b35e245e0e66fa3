import { toIso, toIsoOrNull } from '../clock/iso.js';
import type { ClaimedWake } from './claim.js';
import { parseObject } from './run-payload.js';
import type { Run } from './run.schema.js';

/** A run as it is shown outside, without what only its holder may know. */
export function viewRun(run: Run) {
  return {
    id: run.id,
    workspaceId: run.workspaceId,
    agentProfileId: run.agentProfileId,
    reason: run.reason,
    payload: viewPayload(run.payload),
    taskId: run.taskId === '' ? null : run.taskId,
    actorType: run.actorType,
    actorId: run.actorId,
    status: run.status,
    coalescedCount: run.coalescedCount,
    idempotencyKey: run.idempotencyKey,
    requestedAt: toIso(run.requestedAt),
    claimedAt: toIsoOrNull(run.claimedAt),
    finishedAt: toIsoOrNull(run.finishedAt),
    retryCount: run.retryCount,
    attempt: run.attempt,
    scheduledRetryAt: toIsoOrNull(run.scheduledRetryAt),
    sessionId: run.sessionId,
    workerId: run.workerId,
    outputSummary: run.outputSummary,
    errorMessage: run.errorMessage,
    cancelReason: run.cancelReason,
    retryOf: run.retryOf,
  };
}

/** One of the wakes that a run answers. */
export function viewWake(wake: ClaimedWake) {
  return {
    payload: viewPayload(wake.payload),
    actorType: wake.actorType,
    actorId: wake.actorId,
    idempotencyKey: wake.idempotencyKey,
    requestedAt: toIso(wake.requestedAt),
  };
}

/** The object that the payload encodes, or its text where that is no object. */
function viewPayload(payload: string): Readonly<Record<string, unknown>> | string {
  return parseObject(payload) ?? payload;
}
