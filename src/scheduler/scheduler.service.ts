import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import type { Run } from '../runs/run.schema.js';
import { Admission, type Judgement } from './admission.js';
import { AdmissionLocks } from './admission-locks.js';
import { AdmissionReports } from './admission-reports.js';
import type { Decision } from './decision.js';
import { Explainer } from './explainer.js';
import type { Explanation } from './explanation.js';
import type { Keyless } from './keyless.js';
import type { DecidedOutcome } from './queue-outcome.js';
import { KeyTakenError, RunQueue } from './run-queue.js';
import { StepwiseFacts } from './stepwise-facts.js';
import { type Wake, type WakeRequest, wakeOf } from './wake.js';

/** How often a wake is judged anew before something must be wrong with what it is judged by. */
const ROUNDS = 10;

/** What became of one wake of several: a decision, or the error that it would have raised alone. */
export type Settled = { readonly decision: Decision } | { readonly error: unknown };

/** The only door into the queue. Every producer goes through {@link queueRun}. */
@Injectable()
export class SchedulerService {
  constructor(
    private readonly transactions: Transactions,
    private readonly locks: AdmissionLocks,
    private readonly facts: StepwiseFacts,
    private readonly admission: Admission,
    private readonly queue: RunQueue,
    private readonly explainer: Explainer,
    private readonly reports: AdmissionReports,
    private readonly clock: Clock,
  ) {}

  /**
   * Decides a wake, in the transaction around the caller when there is one.
   *
   * A refusal is a decision, not an error. Counters, warnings and the signal wait for the commit.
   *
   * @throws AgentNotRunnableError, WorkspacePausedError, PauseGateUnavailableError, or the error of a failed read.
   */
  async queueRun(request: WakeRequest): Promise<Decision> {
    const asked = this.clock.now();
    try {
      return await this.transactions.run(async () => {
        const decision = await this.decide(request);
        this.transactions.afterCommit(() => {
          this.reports.took(decision.outcome, this.clock.now() - asked);
        });
        return decision;
      });
    } catch (error) {
      this.reports.took('none', this.clock.now() - asked);
      // Inside a caller's transaction nothing can be kept: it is about to be rolled back, and its owner is told.
      if (!this.transactions.inside) await this.keepUndecided(request, error);
      throw error;
    }
  }

  /** Decides several wakes in their order, each on its own merits: one that fails leaves the others as they are. */
  async queueRuns(requests: readonly WakeRequest[]): Promise<readonly Settled[]> {
    const settled: Settled[] = [];
    for (const request of requests) {
      settled.push(
        await this.queueRun(request).then(
          (decision) => ({ decision }),
          (error: unknown) => ({ error }),
        ),
      );
    }
    return settled;
  }

  /** What would become of a wake now, step by step. Changes nothing and counts nowhere. */
  explain(request: WakeRequest): Promise<Explanation> {
    const wake = wakeOf(request, this.clock.now());
    return this.explainer.explain(wake, this.facts.about(wake));
  }

  /** Keeps that a wake could not be decided, for a caller whose own transaction {@link queueRun} was part of. */
  keepUndecided(request: WakeRequest, error: unknown): Promise<void> {
    return this.reports.undecided(wakeOf(request, this.clock.now()), error);
  }

  /** Counts a wake that its producer enqueues without a key, once the transaction that owes it has committed. */
  reportKeyless(reason: string, keyless: Keyless): void {
    this.reports.keyless(reason, keyless);
  }

  private async decide(request: WakeRequest): Promise<Decision> {
    await this.locks.take(wakeOf(request, 0));
    // Only now: a wake stamped before its turn and judged after it would not count its neighbours.
    const wake = wakeOf(request, this.clock.now());
    for (let round = 0; round < ROUNDS; round++) {
      const facts = this.facts.about(wake);
      const judgement = await this.admission.judge(wake, facts);
      const workspaceId = (await facts.agent())?.workspaceId;
      if (workspaceId === undefined) throw new Error('A wake for an unknown agent passed the gates.');
      const decision = await this.carryOut(wake, workspaceId, judgement);
      // Again only when the run that was to answer left between two statements: it is not there the next time.
      if (decision === null) continue;
      await this.reports.decided(wake, workspaceId, decision, judgement.degraded);
      return decision;
    }
    throw new Error(`No run stayed long enough to answer a wake in ${ROUNDS} rounds.`);
  }

  private async carryOut(wake: Wake, workspaceId: string, judgement: Judgement): Promise<Decision | null> {
    const { stopped, allowance } = judgement;
    if (stopped === null) return this.insert(wake, workspaceId, allowance);
    const { gate, stop } = stopped;
    switch (stop.outcome) {
      case 'deduped':
        return decided('deduped', { run: stop.run, gate });
      case 'coalesced':
        return this.merge(wake, stop.into, gate);
      case 'rate_limited':
        return decided('rate_limited', { gate, allowance: stop.allowance });
    }
  }

  private async insert(
    wake: Wake,
    workspaceId: string,
    allowance: Decision['allowance'],
  ): Promise<Decision | null> {
    try {
      return decided('queued', { run: await this.queue.insert(wake, workspaceId), allowance });
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error;
      return keptBy(await this.queue.ownerOfKey(wake, workspaceId));
    }
  }

  private async merge(wake: Wake, into: Run, gate: string): Promise<Decision | null> {
    try {
      const merged = await this.transactions.savepoint(() => this.queue.merge(wake, into));
      return merged ? decided('coalesced', { run: into, gate }) : null;
    } catch (error) {
      if (!(error instanceof KeyTakenError)) throw error;
      const owner = await this.queue.ledgerOwnerOfKey(wake, into.workspaceId);
      if (owner === null) await this.queue.freeLedgerKey(wake, into.workspaceId);
      return keptBy(owner);
    }
  }
}

/** A key outlives the look-back: the run that holds it answers its redelivery, until that run is deleted. */
function keptBy(run: Run | null): Decision | null {
  return run === null ? null : decided('deduped', { run, gate: 'insert' });
}

function decided(
  outcome: DecidedOutcome,
  {
    run = null,
    gate = null,
    allowance = null,
  }: Partial<Pick<Decision, 'gate' | 'allowance'>> & { run?: Run | null },
): Decision {
  return {
    outcome,
    admitted: outcome === 'queued',
    runId: run?.id ?? null,
    runStatus: run?.status ?? null,
    gate,
    allowance,
  };
}
