import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { TaskRecords } from '../tasks/task-records.js';
import { type Claim, type ClaimedWake, type ClaimRequest, WAKES_LIMIT } from './claim.js';
import { ClaimPicker } from './claim-picker.js';
import { ClaimTokens, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { RunsRepository } from './runs.repository.js';

/** Hands out runs, each with a lease and the tokens that live as long as it does. */
@Injectable()
export class ClaimIssuer {
  constructor(
    private readonly transactions: Transactions,
    private readonly picker: ClaimPicker,
    private readonly claims: ClaimsRepository,
    private readonly runs: RunsRepository,
    private readonly tasks: TaskRecords,
    private readonly tokens: ClaimTokens,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  claim(request: ClaimRequest): Promise<readonly Claim[]> {
    return this.transactions.run(async () => {
      const claims: Claim[] = [];
      for (const { run, agent } of await this.picker.pick(request, request.max ?? 1)) {
        claims.push(await this.issue(run, agent, request));
      }
      return claims;
    });
  }

  private async issue(run: Run, agent: Agent, request: ClaimRequest): Promise<Claim> {
    const grant = await this.tokens.grant(run, request.leaseSeconds);
    const held = {
      status: 'claimed',
      claimedAt: this.clock.now(),
      attempt: run.attempt + 1,
      workerId: request.workerId,
      leaseExpiresAt: grant.leaseExpiresAt,
      ...proofOf({ claimToken: grant.claimToken, bearerTokenId: request.bearerTokenId }),
    } as const;
    await this.claims.change(run.id, 'queued', held);
    if (run.taskId !== null && run.taskId !== '') await this.tasks.start(run.taskId, run.workspaceId);
    await this.news.claimed(run, request.workerId, held.claimedAt);
    return { run: { ...run, ...held }, wakes: await this.wakesOf(run), agent, ...grant };
  }

  /** A run that was never merged is its own only wake. */
  private async wakesOf(run: Run): Promise<readonly ClaimedWake[]> {
    const merged = await this.runs.wakesOf(run.id, WAKES_LIMIT);
    return merged.length > 0 ? merged : [run];
  }
}
