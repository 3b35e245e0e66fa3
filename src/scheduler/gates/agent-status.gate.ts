import { Injectable } from '@nestjs/common';
import { AgentNotRunnableError } from '../../agents/agent.errors.js';
import type { Verdict } from '../admission-gate.js';
import type { WakeFacts } from '../wake-facts.js';
import type { Wake } from '../wake.js';

/** Only an agent that is at work, or waiting for it, can be woken. */
@Injectable()
export class AgentStatusGate {
  readonly name = 'agent_status';
  readonly onReadFailure = 'raise';

  async judge(wake: Wake, facts: WakeFacts): Promise<Verdict> {
    const agent = await facts.agent();
    if (agent?.status !== 'idle')
      throw new AgentNotRunnableError(wake.agentProfileId, agent?.status ?? 'unknown');
    return { kind: 'pass' };
  }
}
