import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { Clock } from '../clock/clock.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import { type ClaimScope, ClaimsRepository } from './claims.repository.js';
import { QueueHeads } from './queue-heads.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { Staleness } from './staleness.js';

/** How many agents one claim looks at: those whose runs have all been overtaken must not keep it from ending. */
const LOOKED_AT_MOST = 500;

interface Picked {
  readonly run: Run;
  readonly agent: Agent;
}

/** Chooses what is handed out: the oldest due runs, one to an agent, and none that has been overtaken. */
@Injectable()
export class ClaimPicker {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly heads: QueueHeads,
    private readonly workspaces: WorkspacesRepository,
    private readonly staleness: Staleness,
    private readonly news: RunNews,
    private readonly dialect: Dialect,
    private readonly clock: Clock,
  ) {}

  /** To be called before the transaction of {@link pick}, which sees only what was known then. */
  prepare(): Promise<void> {
    return this.heads.catchUp();
  }

  /**
   * A workspace of which nobody can say whether it is paused starts nothing: its runs stay where they are, and the error
   * is counted instead of thrown. Any other error is.
   */
  async deferOrThrow(error: unknown): Promise<readonly []> {
    if (this.dialect.isUnavailable(error) || (await this.canReadPauses())) throw error;
    this.news.claimDeferred(error);
    return [];
  }

  private canReadPauses(): Promise<boolean> {
    return this.transactions
      .run(() => this.workspaces.openPause(''))
      .then(
        () => true,
        () => false,
      );
  }

  /** The runs whose turn it is, with their agents, who stay locked until the transaction ends. */
  async pick(scope: ClaimScope, max: number): Promise<readonly Picked[]> {
    const picked: Picked[] = [];
    const seen: string[] = [];
    while (picked.length < max && seen.length < LOOKED_AT_MOST) {
      const agents = await this.claims.lockWaitingAgents(scope, seen, max - picked.length);
      if (agents.length === 0) break;
      for (const agent of agents) {
        seen.push(agent.id);
        const run = await this.next(agent, this.clock.now());
        if (run === null) await this.heads.doubt(agent.id);
        else picked.push({ run, agent });
      }
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
