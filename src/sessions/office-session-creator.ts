import type { Session } from './session.schema.js';

/** What a caller decides about an office session. */
export type WantedSession = Pick<
  Session,
  'taskId' | 'workspaceId' | 'agentProfileId' | 'executionProfileId' | 'executorId'
>;

/** Creates office sessions, at most one live for a pair (REQ-OFFICE-SESSION-IDENTITY-001). */
export abstract class OfficeSessionCreator {
  /**
   * Makes a session in state CREATED, and tells of it once it stands.
   *
   * @throws OfficeSessionRaceConflict when the pair has a live session, whoever made it. Nothing is written then.
   */
  abstract create(wanted: Omit<WantedSession, 'workspaceId'>): Promise<Session>;
}

/** A row without an agent names no pair: it is never refused, and never taken for another such row. */
export function namesPair<T extends { readonly agentProfileId: string | null }>(
  row: T,
): row is T & { readonly agentProfileId: string } {
  return row.agentProfileId !== null && row.agentProfileId !== '';
}
