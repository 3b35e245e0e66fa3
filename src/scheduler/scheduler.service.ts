import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import type { Run } from '../runs/run.schema.js';
import { RunsRepository } from '../runs/runs.repository.js';
import { Admission, type Judgement } from './admission.js';
import { AdmissionLocks } from './admission-locks.js';
import { AdmissionTelemetry } from './admission-telemetry.js';
import type { Decision } from './decision.js';
import type { DecidedOutcome } from './queue-outcome.js';
import { KeyTakenError, RunQueue } from './run-queue.js';
import { StepwiseFacts } from './stepwise-facts.js';
import { type Wake, type WakeRequest, wakeOf } from './wake.js';
import type { WakeFacts } from './wake-facts.js';

/** The only door into the queue. Every producer goes through {@link queueRun}. */
@Injectable()
export class SchedulerService {
  constructor(
    private readonly transactions: Transactions,
    private readonly locks: AdmissionLocks,
    private readonly facts: StepwiseFacts,
    private readonly admission: Admission,
    private readonly queue: RunQueue,
    private readonly runs: RunsRepository,
    private readonly telemetry: AdmissionTelemetry,
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
        this.afterCommit(() => {
          this.telemetry.decided(decision.outcome, (this.clock.now() - asked) / 1000);
        });
        return decision;
      });
    } catch (error) {
      this.telemetry.decided('none', (this.clock.now() - asked) / 1000);
      throw error;
    }
  }

  private async decide(request: WakeRequest): Promise<Decision> {
    await this.locks.take(wakeOf(request, 0));
    // Only now: a wake stamped before its turn and judged after it would not count its neighbours.
    const wake = wakeOf(request, this.clock.now());
    let decision: Decision | null = null;
    // Again only when the run that was to answer left between two statements: it is not there the next time.
    while (decision === null) {
      const facts = this.facts.about(wake);
      decision = await this.carryOut(wake, facts, await this.admission.judge(wake, facts));
    }
    return decision;
  }

  private async carryOut(wake: Wake, facts: WakeFacts, judgement: Judgement): Promise<Decision | null> {
    const { stopped } = judgement;
    if (stopped === null) return this.insert(wake, facts, judgement);
    const { gate, stop } = stopped;
    switch (stop.outcome) {
      case 'deduped':
        this.afterCommit(() => {
          this.telemetry.windowedDedup(wake);
        });
        return decided('deduped', { run: stop.run, gate });
      case 'coalesced':
        return this.merge(wake, stop.into, gate);
      case 'rate_limited':
        this.afterCommit(() => {
          this.telemetry.allowanceExhausted(wake, stop.allowance);
        });
        return decided('rate_limited', { gate, allowance: stop.allowance });
    }
  }

  private async insert(
    wake: Wake,
    facts: WakeFacts,
    { allowance, degraded }: Judgement,
  ): Promise<Decision | null> {
    const agent = await facts.agent();
    if (agent === null) throw new Error('A wake for an unknown agent passed the gates.');
    try {
      const run = await this.queue.insert(wake, agent.workspaceId);
      if (degraded !== null) {
        this.afterCommit(() => {
          this.telemetry.admittedUnjudged(wake, degraded);
        });
      }
      return decided('queued', { run, allowance });
    } catch (error) {
      return this.keyTaken(wake, agent.workspaceId, error);
    }
  }

  private async merge(wake: Wake, into: Run, gate: string): Promise<Decision | null> {
    try {
      const merged = await this.transactions.savepoint(() => this.queue.merge(wake, into));
      return merged ? decided('coalesced', { run: into, gate }) : null;
    } catch (error) {
      return this.keyTaken(wake, into.workspaceId, error);
    }
  }

  /** A key outlives the look-back: the run that holds it answers its redelivery until that run is deleted. */
  private async keyTaken(wake: Wake, workspaceId: string, error: unknown): Promise<Decision | null> {
    const { idempotencyKey, keyScope } = wake;
    if (!(error instanceof KeyTakenError) || idempotencyKey === null) throw error;
    const run = await this.runs.findByKey({ workspaceId, keyScope, idempotencyKey }, 0);
    // Deleted since: nothing answers the redelivery any more.
    if (run === null) return null;
    this.afterCommit(() => {
      this.telemetry.durableDedup(wake);
    });
    return decided('deduped', { run, gate: 'insert' });
  }

  private afterCommit(report: () => void): void {
    this.transactions.afterCommit(report);
  }
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
