import type { AgentRole } from './agent.schema.js';

/** The roles whose agents may assign tasks unless told otherwise. */
const ASSIGNING_ROLES: readonly AgentRole[] = ['ceo', 'assistant', 'worker', 'security'];

/** Whether an agent of this role may assign tasks when nobody said. */
export function mayAssignByDefault(role: AgentRole): boolean {
  return ASSIGNING_ROLES.includes(role);
}
