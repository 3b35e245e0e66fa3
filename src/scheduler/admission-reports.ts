import { Injectable, Logger } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { DecisionsService, type NewDecision } from '../decisions/decisions.service.js';
import { knownErrorIn } from '../errors/known-error.js';
import type { Judgement } from './admission.js';
import { AdmissionTelemetry } from './admission-telemetry.js';
import type { Decision } from './decision.js';
import type { Keyless } from './keyless.js';
import type { QueueOutcome } from './queue-outcome.js';
import type { Wake } from './wake.js';

/** How many of the equal decisions of a minute are logged one by one; the rest is in their row's count. */
const LOGGED_PER_FOLD = 10;

/** Sees to it that nothing that was decided stays unsaid: the kept decision in its transaction, the rest after commit. */
@Injectable()
export class AdmissionReports {
  private readonly logger = new Logger('Admission');

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly decisions: DecisionsService,
    private readonly telemetry: AdmissionTelemetry,
    private readonly agents: AgentsRepository,
  ) {}

  /** How long a wake took from being asked for to its outcome. */
  took(outcome: QueueOutcome, milliseconds: number): void {
    this.telemetry.decided(outcome, milliseconds / 1000);
  }

  /** A producer has no key for a wake that it owes. */
  keyless(reason: string, keyless: Keyless): void {
    this.transactions.afterCommit(() => {
      this.telemetry.keyless(reason, keyless);
    });
  }

  async decided(
    wake: Wake,
    workspaceId: string,
    decision: Decision,
    degraded: Judgement['degraded'],
  ): Promise<void> {
    if (decision.admitted) {
      this.transactions.afterCommit(() => {
        if (degraded !== null) this.telemetry.admittedUnjudged(wake, degraded);
      });
      return;
    }
    const { outcome, gate, runId, allowance } = decision;
    const equal = await this.keep(wake, {
      ...keptOf(wake, workspaceId),
      outcome,
      gate,
      runId,
      allowance,
    });
    this.transactions.afterCommit(() => {
      this.telemetry.stopped(wake, decision, equal <= LOGGED_PER_FOLD);
    });
  }

  /**
   * Keeps that a wake could not be decided, once what tried has been rolled back. That it cannot be kept
   * either must not hide why it could not be decided. A wake for nobody belongs to no workspace and is not kept.
   */
  async undecided(wake: Wake, error: unknown): Promise<void> {
    const known = knownErrorIn(error);
    try {
      const agent = await this.agents.find(wake.agentProfileId);
      if (agent === null) return;
      const kept = { ...keptOf(wake, agent.workspaceId), error: known?.code ?? 'internal' };
      await this.transactions.savepoint(() => this.decisions.keep(kept));
    } catch (failure) {
      // Its caller hears that anyway, and a shutdown must not log a line for each wake in flight.
      if (this.dialect.isUnavailable(failure)) return;
      this.logger.warn(
        { reason: wake.reason, error: String(failure) },
        'an undecided wake could not be noted',
      );
    }
  }

  /** Under a savepoint: a decision that cannot be kept is a decision all the same, and never the caller's error. */
  private async keep(wake: Wake, decision: NewDecision): Promise<number> {
    try {
      return await this.transactions.savepoint(() => this.decisions.keep(decision));
    } catch (error) {
      this.logger.warn({ reason: wake.reason, error: String(error) }, 'a decision could not be kept');
      return 1;
    }
  }
}

function keptOf(wake: Wake, workspaceId: string): NewDecision {
  const { agentProfileId, reason, facts } = wake;
  const subject = { workspaceId, agentProfileId, reason, ...facts };
  return { ...subject, outcome: 'none', error: null, gate: null, runId: null, allowance: null };
}
