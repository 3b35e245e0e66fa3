import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import type { ClaimReport, Heartbeat, StopReason } from './claim.js';
import { ClaimTokens, holds, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
import { ClaimLostError } from './run.errors.js';
import type { Run } from './run.schema.js';
import { lockedRun } from './locked-run.js';
import { RunNews } from './run-news.js';

/** Keeps claimed runs with their holders, and tells those when to stop. */
@Injectable()
export class RunLeases {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly agents: AgentsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly tokens: ClaimTokens,
    private readonly news: RunNews,
  ) {}

  /** @throws NotFoundError, or ClaimLostError when the claim does not hold the run. */
  async heartbeat(id: string, report: ClaimReport, leaseSeconds?: number): Promise<Heartbeat> {
    const heartbeat = await this.transactions.run(async () => {
      const run = await lockedRun(this.claims, id);
      if (!holds(proofOf(report), run)) return null;
      if (run.status === 'claimed') return this.extend(run, leaseSeconds);
      // Cancelled under its holder's hands: the lease is not extended, and ends with the holder's silence.
      return { leaseExpiresAt: run.leaseExpiresAt ?? 0, stop: true, stopReason: 'cancelled' as const };
    });
    if (heartbeat !== null) return heartbeat;
    this.news.reportRefused();
    throw new ClaimLostError();
  }

  private async extend(run: Run, leaseSeconds?: number): Promise<Heartbeat> {
    const leaseExpiresAt = await this.tokens.leaseEnd(leaseSeconds);
    await this.claims.change(run.id, 'claimed', { leaseExpiresAt });
    await this.tokens.extend(run.id, leaseExpiresAt);
    const stopReason = await this.stopReason(run);
    return { leaseExpiresAt, stop: stopReason !== null, stopReason };
  }

  /** The kill switch, an agent's status and an interrupt are asked for anew at every heartbeat. */
  private async stopReason({
    interruptRequestedAt,
    workspaceId,
    agentProfileId,
  }: Run): Promise<StopReason | null> {
    if (interruptRequestedAt !== null) return 'interrupted';
    if ((await this.workspaces.openPause(workspaceId)) !== null) return 'paused';
    const agent = await this.agents.find(agentProfileId);
    return agent?.status === 'idle' ? null : 'paused';
  }
}
