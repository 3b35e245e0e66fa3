import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { Transactions } from '../database/transactions.js';
import { DecisionsService } from '../decisions/decisions.service.js';
import { EventLog } from '../events/event-log.js';
import { type Forgettable, RunHistory } from '../runs/run-history.repository.js';
import { IDEMPOTENCY_WINDOW_MS } from '../scheduler/admission-limits.js';

const DAY_MS = 24 * 60 * 60_000;

/** How many of each agent's newest ended runs stay whatever their age, so that an agent that rests keeps its history. */
export const KEPT_PER_AGENT = 50;

/** How many runs are forgotten in one transaction: it holds SQLite's only writer, for which admissions wait meanwhile. */
export const RUNS_BATCH = 200;

/** How often runs are looked through, in milliseconds: nothing but space depends on it. */
const EVERY_MS = 60 * 60_000;

/** Forgets what is kept no longer, so that nothing grows for ever. */
@Injectable()
export class Retention {
  /** The first look comes with the first sweep. */
  private nextLookAt = 0;

  constructor(
    private readonly transactions: Transactions,
    private readonly history: RunHistory,
    private readonly events: EventLog,
    private readonly decisions: DecisionsService,
    private readonly clock: Clock,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {}

  forgetDecisions(): Promise<void> {
    return this.decisions.forgetOld();
  }

  forgetEvents(): Promise<void> {
    return this.events.forgetOld();
  }

  /** As {@link forgetRuns}, but does nothing within the hour after one that went to its end. */
  async forgetRunsHourly(isStopping: () => boolean): Promise<void> {
    const now = this.clock.now();
    if (now < this.nextLookAt) return;
    await this.forgetRuns(isStopping);
    this.nextLookAt = now + EVERY_MS;
  }

  /**
   * Deletes the ended runs that are older than the setting says, except the newest 50 of each agent and what a worker
   * still holds. No setting takes a run or a key that is inside the longest window by which admission judges.
   *
   * `isStopping` is asked before each batch. Default: goes on to the last.
   */
  async forgetRuns(isStopping = (): boolean => false): Promise<void> {
    const { retentionDays } = this.options;
    if (retentionDays === null) return;
    const before = this.clock.now() - Math.max(retentionDays * DAY_MS, IDEMPOTENCY_WINDOW_MS);
    let agentProfileId = await this.history.nextAgent('');
    while (agentProfileId !== null && !isStopping()) {
      await this.forgetOf({ agentProfileId, before, kept: KEPT_PER_AGENT }, isStopping);
      agentProfileId = await this.history.nextAgent(agentProfileId);
    }
  }

  /** Asked outside of any transaction first: most agents have nothing to forget, and the writer is not theirs to take. */
  private async forgetOf(wanted: Forgettable, isStopping: () => boolean): Promise<void> {
    if (!(await this.history.hasForgettable(wanted))) return;
    let forgotten = RUNS_BATCH;
    while (forgotten === RUNS_BATCH && !isStopping())
      forgotten = await this.transactions.run(() => this.history.forget(wanted, RUNS_BATCH));
  }
}
