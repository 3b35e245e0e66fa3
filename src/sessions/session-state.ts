/** The states of a session. A state that is not listed is read as live, so that one added later is. */
export const SESSION_STATES = [
  'CREATED',
  'STARTING',
  'RUNNING',
  'IDLE',
  'WAITING_FOR_INPUT',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const;

export type SessionState = (typeof SESSION_STATES)[number];

/** The one definition of terminal; every other state is live, by complement (AC-OFFICE-SESSION-IDENTITY-001.4, .10). */
export const TERMINAL_STATES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

/** Whether a conversation in this state is over for good. */
export function isTerminal(state: string): boolean {
  return TERMINAL_STATES.some((terminal) => terminal === state);
}
