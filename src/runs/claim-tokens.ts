import { Injectable } from '@nestjs/common';
import { SECRET_BYTES, hashOf, sameHash } from '../auth/token-text.js';
import { TokensService } from '../auth/tokens.service.js';
import { LeaseClock } from '../database/lease-clock.js';
import { Randomness } from '../random/randomness.js';
import { type ClaimReport, DEFAULT_LEASE_SECONDS } from './claim.js';
import type { ClaimProof } from './claims.repository.js';
import type { Run } from './run.schema.js';

/** What a claim's holder is given. */
export interface ClaimGrant {
  readonly claimToken: string;
  readonly agentToken: string;
  readonly leaseExpiresAt: number;
}

/** Leases, and the two secrets that live as long as one: the claim's own token and the agent's inside the run. */
@Injectable()
export class ClaimTokens {
  constructor(
    private readonly tokens: TokensService,
    private readonly leases: LeaseClock,
    private readonly randomness: Randomness,
  ) {}

  async grant(run: Run, leaseSeconds?: number): Promise<ClaimGrant> {
    const leaseExpiresAt = await this.leaseEnd(leaseSeconds);
    const { token } = await this.tokens.issue({
      kind: 'agent',
      name: `run ${run.id}`,
      workspaceId: run.workspaceId,
      agentProfileId: run.agentProfileId,
      runId: run.id,
      expiresAt: leaseExpiresAt,
    });
    const claimToken = this.randomness.bytes(SECRET_BYTES).toString('hex');
    return { claimToken, agentToken: token, leaseExpiresAt };
  }

  /** When a lease that begins now ends. */
  async leaseEnd(leaseSeconds = DEFAULT_LEASE_SECONDS): Promise<number> {
    return (await this.leases.now()) + leaseSeconds * 1000;
  }

  extend(runId: string, leaseExpiresAt: number): Promise<void> {
    return this.tokens.extendOfRun(runId, leaseExpiresAt);
  }

  revoke(runId: string): Promise<void> {
    return this.tokens.revokeOfRun(runId);
  }
}

/** What is stored of a claim: never its token. */
export function proofOf(report: ClaimReport): ClaimProof {
  return { claimTokenHash: hashOf(report.claimToken), claimedByTokenId: report.bearerTokenId };
}

/** Whether the claim that is shown is the one that holds the run. */
export function holds(proof: ClaimProof, run: Run): boolean {
  if (run.claimTokenHash === null || run.claimedByTokenId !== proof.claimedByTokenId) return false;
  return sameHash(run.claimTokenHash, proof.claimTokenHash);
}
