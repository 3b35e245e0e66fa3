import { Injectable, Logger } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { TaskRecords } from '../tasks/task-records.js';
import { type Claim, type ClaimRequest } from './claim.js';
import { ClaimPicker } from './claim-picker.js';
import { ClaimTokens, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';
import { RunWakes } from './run-wakes.js';

/** Hands out runs, each with a lease and the tokens that live as long as it does. */
@Injectable()
export class ClaimIssuer {
  private readonly logger = new Logger(ClaimIssuer.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly picker: ClaimPicker,
    private readonly claims: ClaimsRepository,
    private readonly wakes: RunWakes,
    private readonly tasks: TaskRecords,
    private readonly tokens: ClaimTokens,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  async claim(request: ClaimRequest): Promise<readonly Claim[]> {
    await this.picker.prepare();
    const claims = await this.transactions
      .run(() => this.issueAll(request))
      .catch((error: unknown) => this.picker.deferOrThrow(error));
    // By itself: whoever hands a task over locks the task before the run, and here it would be the other way round.
    if (claims.length > 0) await this.startTasks(claims);
    return claims;
  }

  private async issueAll(request: ClaimRequest): Promise<readonly Claim[]> {
    const issued: Claim[] = [];
    for (const { run, agent } of await this.picker.pick(request, request.max ?? 1)) {
      issued.push(await this.issue(run, agent, request));
    }
    return issued;
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
    await this.news.claimed(run, request.workerId, held.claimedAt);
    return { run: { ...run, ...held }, wakes: await this.wakes.of(run), agent, ...grant };
  }

  /** The first claim of a task's run means that work on it has begun. */
  private async startTasks(claims: readonly Claim[]): Promise<void> {
    try {
      await this.transactions.run(() => this.startInOrder(claims));
    } catch (error) {
      // The runs are held, and only this answer says by which tokens: it must arrive.
      this.logger.warn({ error: String(error) }, 'claimed tasks could not be marked as begun');
    }
  }

  /** In one order, so that claims never deadlock. */
  private async startInOrder(claims: readonly Claim[]): Promise<void> {
    const named = claims.flatMap(({ run }) => (run.taskId === null || run.taskId === '' ? [] : [run]));
    const inOrder = named.sort((one, other) => ((one.taskId ?? '') < (other.taskId ?? '') ? -1 : 1));
    for (const { taskId, workspaceId } of inOrder) await this.tasks.start(taskId ?? '', workspaceId);
  }
}
