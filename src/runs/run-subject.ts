import type { EventSubject } from '../events/event.js';
import type { Run } from './run.schema.js';

/** What an event about a run is about. */
export function subjectOf({ id, agentProfileId, taskId, sessionId }: Run): EventSubject {
  return {
    runId: id,
    agentProfileId,
    ...(taskId === null || taskId === '' ? {} : { taskId }),
    ...(sessionId === null ? {} : { sessionId }),
  };
}
