import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { storable } from '../database/storable.js';
import { Transactions } from '../database/transactions.js';
import { IllegalTransitionError } from '../errors/reveille-error.js';
import { SessionTurns } from '../sessions/session-turns.js';
import type { ClaimReport } from './claim.js';
import { ClaimTokens, holds, proofOf } from './claim-tokens.js';
import { ClaimsRepository, UNHELD } from './claims.repository.js';
import { lockedRun } from './locked-run.js';
import { ClaimLostError } from './run.errors.js';
import type { Run } from './run.schema.js';
import { RunFailures, type TurnFailure, WAITING } from './run-failures.js';
import { RunNews } from './run-news.js';
import { WaitingRetries } from './waiting-retries.js';

/** What a worker says of a turn that ended well. */
export interface TurnResult {
  readonly outputSummary?: string | undefined;
  /** The conversation's token, with which the next turn goes on. */
  readonly acpSessionId?: string | undefined;
}

/** How a turn can end, and what ends with it: the claim, the agent's token, the session's turn. */
@Injectable()
export class RunEndings {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly turns: SessionTurns,
    private readonly tokens: ClaimTokens,
    private readonly failures: RunFailures,
    private readonly retries: WaitingRetries,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError, ClaimLostError */
  finish(id: string, report: ClaimReport, { outputSummary, acpSessionId }: TurnResult): Promise<Run> {
    const summary = outputSummary === undefined ? null : storable(outputSummary);
    const changes = { status: 'finished', finishedAt: this.clock.now(), outputSummary: summary } as const;
    return this.end(id, report, () => changes, acpSessionId);
  }

  /**
   * A run that has failed waits to be tried again, unless it was often enough, its worker calls that useless, or it has
   * been overtaken.
   *
   * @throws NotFoundError, ClaimLostError
   */
  async fail(id: string, report: ClaimReport, failure: TurnFailure): Promise<Run> {
    const run = await this.end(id, report, (held) => this.failures.after(held, failure));
    await this.failures.settled(id);
    return run;
  }

  /**
   * Puts the run back as if it had not been started.
   *
   * @throws NotFoundError, ClaimLostError
   */
  release(id: string, report: ClaimReport): Promise<Run> {
    return this.end(id, report, ({ attempt }) => ({ ...WAITING, attempt: Math.max(0, attempt - 1) }));
  }

  /**
   * Cancels a run because a person wants it. One that is held shows it at once, but its agent counts as busy until the
   * worker has let go: two processes never share one conversation.
   *
   * @throws NotFoundError, or IllegalTransitionError for a run that has ended.
   */
  cancel(id: string, reason: string): Promise<Run> {
    return this.transactions.run(async () => {
      const run = await lockedRun(this.claims, id);
      if (run.status !== 'queued' && run.status !== 'claimed') {
        throw new IllegalTransitionError('The run has ended already.');
      }
      return this.cancelLocked(run, reason, true);
    });
  }

  /** Cancels whatever the agent has not ended, because the agent is no more. */
  async withdrawAll(agentProfileId: string): Promise<void> {
    await this.transactions.run(async () => {
      for (const run of await this.claims.lockUnended(agentProfileId))
        await this.cancelLocked(run, 'agent_deleted', null);
    });
  }

  /** Cancels a claimed run whose turn has not begun and must not, in the open transaction: no process is at work on it. */
  async abandon(run: Run, reason: string): Promise<void> {
    const changes = {
      status: 'cancelled',
      cancelReason: reason,
      finishedAt: this.clock.now(),
      ...UNHELD,
    } as const;
    await this.claims.change(run.id, 'claimed', changes);
    await this.letGo(run);
    await this.news.ended(run, 'cancelled', { reason });
  }

  /**
   * Takes a run back whose lease had ended by the given instant: it waits for its next start, or has failed when it was
   * lost too often. One that was heard of or taken back meanwhile stays as it is.
   */
  async takeBack(id: string, endedBy: number, lostLimit: number): Promise<void> {
    await this.transactions.run(async () => {
      const run = await this.claims.lock(id);
      if (run?.claimTokenHash == null || run.leaseExpiresAt === null || run.leaseExpiresAt >= endedBy) return;
      const changes = run.status === 'claimed' ? this.failures.afterLoss(run, lostLimit) : null;
      await this.claims.change(id, run.status, { ...changes, ...UNHELD });
      await this.letGo(run);
      if (changes !== null) await this.tellOfLoss({ ...run, ...changes });
    });
    await this.failures.settled(id);
  }

  private async tellOfLoss(run: Run): Promise<void> {
    this.news.leaseLost(run.status === 'failed' ? 'failed' : 'queued');
    if (run.status === 'failed') await this.failures.conclude(run, { reason: 'worker_lost' });
  }

  private async cancelLocked(run: Run, reason: string, isConclusive: true | null): Promise<Run> {
    const finishedAt = this.clock.now();
    const changes = { status: 'cancelled', cancelReason: reason, finishedAt, isConclusive } as const;
    await this.claims.change(run.id, run.status, changes);
    await this.tokens.revoke(run.id);
    await this.news.ended(run, 'cancelled', { reason });
    this.news.changedUnderItsHolder(run);
    return { ...run, ...changes };
  }

  private async end(
    id: string,
    report: ClaimReport,
    changesTo: (run: Run) => Partial<Run> | Promise<Partial<Run>>,
    acpSessionId?: string,
  ): Promise<Run> {
    const ended = await this.transactions.run(async () => {
      const run = await lockedRun(this.claims, id);
      if (!holds(proofOf(report), run)) return null;
      const isClaimed = run.status === 'claimed';
      // A late report on a cancelled run is its acknowledgement: the agent is free again, the report changes nothing.
      const changes = { ...(isClaimed ? await changesTo(run) : {}), ...UNHELD };
      await this.claims.change(id, run.status, changes);
      await this.letGo(run, isClaimed ? acpSessionId : undefined);
      if (!isClaimed) return null;
      const after = { ...run, ...changes };
      await this.tell(after);
      return after;
    });
    if (ended !== null) return ended;
    this.news.reportRefused();
    throw new ClaimLostError();
  }

  /** Tells how a turn's run has ended, if it has. */
  private async tell(run: Run): Promise<void> {
    switch (run.status) {
      case 'finished':
        await this.news.ended(run, 'finished');
        return this.retries.supersedeBy(run);
      case 'failed':
        return this.failures.conclude(run);
      case 'cancelled':
        return this.news.ended(run, 'cancelled', { reason: run.cancelReason ?? '' });
      case 'queued':
      case 'claimed':
    }
  }

  /** Nobody is at work on the run any more. */
  private async letGo(run: Run, acpSessionId?: string): Promise<void> {
    await this.tokens.revoke(run.id);
    if (run.sessionId !== null && run.taskId !== null)
      await this.turns.end(run.taskId, run.sessionId, {
        acpSessionId,
        executionProfileId: run.executionProfileId,
      });
    this.news.freed();
  }
}
