import { type SessionState, isTerminal } from './session-state.js';

/** Where a live session may go beside its end, which is always open to it. */
const ONWARD: Readonly<Record<string, readonly SessionState[]>> = {
  CREATED: ['STARTING', 'RUNNING'],
  STARTING: ['RUNNING'],
  RUNNING: ['IDLE', 'WAITING_FOR_INPUT'],
  IDLE: ['RUNNING'],
  WAITING_FOR_INPUT: ['RUNNING'],
};

/** Whether a session in the one state may become the other. None leaves a terminal state. */
export function mayBecome(from: string, to: SessionState): boolean {
  if (isTerminal(from)) return false;
  return isTerminal(to) || (ONWARD[from] ?? []).includes(to);
}
