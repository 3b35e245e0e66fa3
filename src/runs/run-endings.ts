import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { ClaimReport } from './claim.js';
import { ClaimTokens, proofOf } from './claim-tokens.js';
import { ClaimsRepository, UNHELD } from './claims.repository.js';
import { ClaimLostError, IllegalTransitionError } from './run.errors.js';
import type { Run } from './run.schema.js';
import { RunNews } from './run-news.js';

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
    private readonly sessions: SessionsService,
    private readonly tokens: ClaimTokens,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  /** @throws ClaimLostError */
  finish(run: Run, report: ClaimReport, { outputSummary, acpSessionId }: TurnResult): Promise<Run> {
    const changes = {
      status: 'finished',
      finishedAt: this.clock.now(),
      outputSummary: outputSummary ?? null,
    } as const;
    return this.end(run, report, changes, acpSessionId);
  }

  /** @throws ClaimLostError */
  fail(run: Run, report: ClaimReport, errorMessage: string): Promise<Run> {
    return this.end(run, report, { status: 'failed', finishedAt: this.clock.now(), errorMessage });
  }

  /**
   * Puts the run back as if it had not been started.
   *
   * @throws ClaimLostError
   */
  release(run: Run, report: ClaimReport): Promise<Run> {
    return this.end(run, report, {
      status: 'queued',
      claimedAt: null,
      attempt: Math.max(0, run.attempt - 1),
    });
  }

  /**
   * Cancels a run. One that is held shows it at once, but its agent counts as busy until the worker has let go: two
   * processes never share one conversation.
   *
   * @throws IllegalTransitionError for a run that has ended.
   */
  cancel(run: Run, reason: string): Promise<Run> {
    return this.transactions.run(async () => {
      const changes = { status: 'cancelled', cancelReason: reason, finishedAt: this.clock.now() } as const;
      const isOpen = run.status === 'queued' || run.status === 'claimed';
      if (!isOpen || !(await this.claims.change(run.id, run.status, changes))) {
        throw new IllegalTransitionError('The run has ended already.');
      }
      await this.tokens.revoke(run.id);
      await this.news.ended(run, 'cancelled', { reason });
      this.news.changedUnderItsHolder(run);
      return { ...run, ...changes };
    });
  }

  /** Takes back a run whose holder was not heard of in time, unless somebody has done so already. */
  takeBack(run: Run, changes: Partial<Run>): Promise<boolean> {
    return this.transactions.run(async () => {
      const { claimTokenHash, claimedByTokenId } = run;
      if (claimTokenHash === null || claimedByTokenId === null) return false;
      const proof = { claimTokenHash, claimedByTokenId };
      if (!(await this.claims.changeHeld(run.id, proof, run.status, { ...changes, ...UNHELD }))) return false;
      await this.letGo(run);
      if (changes.status === 'failed') await this.news.ended(run, 'failed');
      return true;
    });
  }

  private async end(
    run: Run,
    report: ClaimReport,
    changes: Partial<Run>,
    acpSessionId?: string,
  ): Promise<Run> {
    const proof = proofOf(report);
    const ended = await this.transactions.run(async () => {
      if (await this.claims.changeHeld(run.id, proof, 'claimed', { ...changes, ...UNHELD })) {
        await this.letGo(run, acpSessionId);
        if (changes.status === 'finished' || changes.status === 'failed')
          await this.news.ended(run, changes.status);
        return true;
      }
      // A late report on a cancelled run is its acknowledgement: the agent is free again, the report changes nothing.
      if (await this.claims.changeHeld(run.id, proof, 'cancelled', UNHELD)) await this.letGo(run);
      return false;
    });
    if (ended) return { ...run, ...changes, ...UNHELD };
    this.news.reportRefused();
    throw new ClaimLostError();
  }

  /** Nobody is at work on the run any more. */
  private async letGo(run: Run, acpSessionId?: string): Promise<void> {
    await this.tokens.revoke(run.id);
    if (run.sessionId !== null) await this.sessions.endTurn(run.sessionId, acpSessionId);
    this.news.freed();
  }
}
