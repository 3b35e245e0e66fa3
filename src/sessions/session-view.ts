import { toIso, toIsoOrNull } from '../clock/iso.js';
import type { Session } from './session.schema.js';

/** A session as it is shown outside. */
export function viewSession(session: Session) {
  return {
    id: session.id,
    taskId: session.taskId,
    workspaceId: session.workspaceId,
    agentProfileId: session.agentProfileId,
    executionProfileId: session.executionProfileId,
    executorId: session.executorId,
    state: session.state,
    metadata: session.metadata,
    startedAt: toIso(session.startedAt),
    updatedAt: toIso(session.updatedAt),
    completedAt: toIsoOrNull(session.completedAt),
  };
}
