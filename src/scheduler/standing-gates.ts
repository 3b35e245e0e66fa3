import { Injectable } from '@nestjs/common';
import { ask } from './admission.js';
import { AgentStatusGate } from './gates/agent-status.gate.js';
import { WorkspacePauseGate } from './gates/workspace-pause.gate.js';
import { StepwiseFacts } from './stepwise-facts.js';
import type { Wake } from './wake.js';

/** The gates that judge whom a wake is for, and not whether there have been others like it. */
@Injectable()
export class StandingGates {
  constructor(
    private readonly agentStatus: AgentStatusGate,
    private readonly pause: WorkspacePauseGate,
    private readonly facts: StepwiseFacts,
  ) {}

  /** @throws AgentNotRunnableError, WorkspacePausedError, PauseGateUnavailableError, or the error of a failed read. */
  async pass(wake: Wake): Promise<void> {
    const facts = this.facts.about(wake);
    for (const gate of [this.agentStatus, this.pause]) await ask(gate, wake, facts);
  }
}
