import { Injectable } from '@nestjs/common';
import type { Actor } from '../auth/principal.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { IllegalTransitionError } from '../errors/reveille-error.js';
import { ClaimsRepository } from '../runs/claims.repository.js';
import { lockedRun } from '../runs/locked-run.js';
import { RetriesRepository } from '../runs/retries.repository.js';
import type { Run } from '../runs/run.schema.js';
import { RunNews } from '../runs/run-news.js';
import { WaitingRetries } from '../runs/waiting-retries.js';
import { RunQueue } from './run-queue.js';
import { StandingGates } from './standing-gates.js';
import { type Wake, wakeOf } from './wake.js';
import { actedBy } from './wake-payload.js';

/** Tries runs again because a person asks for it. */
@Injectable()
export class RunRetries {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly retries: RetriesRepository,
    private readonly waiting: WaitingRetries,
    private readonly gates: StandingGates,
    private readonly queue: RunQueue,
    private readonly news: RunNews,
    private readonly clock: Clock,
  ) {}

  /**
   * A run that failed or was cancelled is tried again by a new one, which has no key; asked again before that has ended,
   * it is answered by the same one. A run that waits to be tried again is due now. Whoever asks is the actor, so a
   * person's retry counts for no agent's allowance, and neither keys nor what is queued already stand in its way.
   *
   * @throws NotFoundError, IllegalTransitionError for a run in any other status, AgentNotRunnableError,
   * WorkspacePausedError, PauseGateUnavailableError.
   */
  retry(id: string, actor: Actor): Promise<{ readonly run: Run; readonly isNew: boolean }> {
    return this.transactions.run(async () => {
      // Locked, so that of two who ask at once the second finds what the first has made.
      const run = await lockedRun(this.claims, id);
      if (!mayBeRetried(run))
        throw new IllegalTransitionError(`A run that is ${run.status} is not to be tried again.`);
      const wake = this.wakeOf(run, actor);
      await this.gates.pass(wake);
      if (run.status === 'queued') return { run: await this.waiting.hurry(run), isNew: false };
      const unended = await this.retries.unendedRetryOf(id);
      if (unended !== null) return { run: unended, isNew: false };
      this.news.retriedByHand();
      return { run: await this.queue.insertAgain(wake, run), isNew: true };
    });
  }

  private wakeOf({ agentProfileId, reason, payload }: Run, actor: Actor): Wake {
    return wakeOf({ agentProfileId, reason, payload: actedBy(payload, actor) }, this.clock.now());
  }
}

function mayBeRetried({ status, scheduledRetryAt }: Run): boolean {
  if (status === 'queued') return scheduledRetryAt !== null;
  return status === 'failed' || status === 'cancelled';
}
