import { ReveilleError } from '../errors/reveille-error.js';
import type { AgentStatus } from './agent.schema.js';

/** The agent may not be woken: it is unknown, deleted, paused, stopped or awaits approval. */
export class AgentNotRunnableError extends ReveilleError {
  readonly code = 'agent_not_runnable';

  constructor(
    readonly agentProfileId: string,
    readonly status: AgentStatus | 'unknown',
  ) {
    super(`Agent ${agentProfileId} cannot be woken: it is ${status.replace('_', ' ')}.`);
  }
}
