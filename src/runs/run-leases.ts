import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import type { ClaimReport, Heartbeat, StopReason } from './claim.js';
import { ClaimTokens, holds, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
import { ClaimLostError } from './run.errors.js';
import type { Run } from './run.schema.js';
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

  /** @throws ClaimLostError when the claim does not hold the run. */
  heartbeat(run: Run, report: ClaimReport, leaseSeconds?: number): Promise<Heartbeat> {
    return this.transactions.run(async () => {
      const proof = proofOf(report);
      const leaseExpiresAt = await this.tokens.leaseEnd(leaseSeconds);
      if (await this.claims.changeHeld(run.id, proof, 'claimed', { leaseExpiresAt })) {
        await this.tokens.extend(run.id, leaseExpiresAt);
        const stopReason = await this.stopReason(run);
        return { leaseExpiresAt, stop: stopReason !== null, stopReason };
      }
      // Cancelled under its holder's hands: the lease is not extended, and ends with the holder's silence.
      if (run.status === 'cancelled' && holds(proof, run)) {
        return { leaseExpiresAt: run.leaseExpiresAt ?? leaseExpiresAt, stop: true, stopReason: 'cancelled' };
      }
      this.news.reportRefused();
      throw new ClaimLostError();
    });
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
