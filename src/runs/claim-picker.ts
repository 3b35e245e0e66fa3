import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { Clock } from '../clock/clock.js';
import { type ClaimScope, ClaimsRepository } from './claims.repository.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { Staleness } from './staleness.js';

/** Chooses what is handed out: the oldest due runs, one to an agent, and none that has been overtaken. */
@Injectable()
export class ClaimPicker {
  constructor(
    private readonly claims: ClaimsRepository,
    private readonly staleness: Staleness,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  /** The runs whose turn it is, with their agents, who stay locked until the transaction ends. */
  async pick(scope: ClaimScope, max: number): Promise<readonly { run: Run; agent: Agent }[]> {
    const now = this.clock.now();
    const picked: { run: Run; agent: Agent }[] = [];
    for (const agent of await this.claims.lockWaitingAgents(scope, now, max)) {
      const run = await this.next(agent, now);
      if (run !== null) picked.push({ run, agent });
    }
    return picked;
  }

  /** The agent's oldest due run that still means something; what does not is cancelled on the way. */
  private async next(agent: Agent, now: number): Promise<Run | null> {
    for (;;) {
      const run = await this.claims.oldestDue(agent.id, now);
      if (run === null) return null;
      const reason = await this.staleness.reason(run);
      if (reason === null) return run;
      await this.claims.change(run.id, 'queued', {
        status: 'cancelled',
        cancelReason: reason,
        finishedAt: now,
      });
      await this.news.ended(run, 'cancelled', { reason });
    }
  }
}
