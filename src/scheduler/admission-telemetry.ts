import { Injectable, Logger } from '@nestjs/common';
import { MetricsService } from '../metrics/metrics.service.js';
import { ALLOWANCE_REASONS, type AllowanceReason, type Degraded } from './admission-gate.js';
import { ALLOWANCE_LIMIT } from './admission-limits.js';
import type { Allowance } from './allowance.js';
import type { Decision } from './decision.js';
import { KEYLESS_CAUSES, type Keyless } from './keyless.js';
import { QUEUE_OUTCOMES, type QueueOutcome } from './queue-outcome.js';
import type { Wake } from './wake.js';
import { REASON_LABELS, reasonLabel } from '../runs/wake-reason.js';

/**
 * Everything admission counts and logs. Nothing here decides, and an ordinary admission is silent: what is counted
 * tells how often a rule acted, not how much traffic there was (AC-OFFICE-ASSIGN-RATE-003.4).
 */
@Injectable()
export class AdmissionTelemetry {
  private readonly logger = new Logger('Admission');
  private readonly dedups;
  private readonly keylesses;
  private readonly allowances;
  private readonly decisions;
  private readonly seconds;

  constructor(metrics: MetricsService) {
    this.dedups = metrics.counter(
      { name: 'office_run_dedup_total', help: 'Wakes recognised as redeliveries of one already admitted.' },
      { reason: REASON_LABELS, kind: ['windowed', 'durable'], queue: ['runs', 'wakeup'] },
    );
    this.keylesses = metrics.counter(
      { name: 'office_run_dedup_keyless_total', help: 'Wakes that a producer enqueued without a key.' },
      { reason: REASON_LABELS, cause: KEYLESS_CAUSES },
    );
    this.allowances = metrics.counter(
      {
        name: 'office_assignment_rate_limit_total',
        help: 'Agent-made assignment wakes that the allowance refused, or admitted without being able to judge.',
      },
      { reason: ALLOWANCE_REASONS },
    );
    this.decisions = metrics.counter(
      { name: 'office_wake_decisions_total', help: 'Wakes by what became of them.' },
      { outcome: QUEUE_OUTCOMES },
    );
    this.seconds = metrics.seconds(
      {
        name: 'office_admission_seconds',
        help: 'Time from a wake being asked for to its decision, in seconds.',
      },
      { outcome: QUEUE_OUTCOMES },
    );
  }

  decided(outcome: QueueOutcome, seconds: number): void {
    this.decisions.increment({ outcome });
    this.seconds.observe({ outcome }, seconds);
  }

  /** A wake made no run. It is counted whether or not it is logged: a flood is told by its counter. */
  stopped(wake: Wake, { outcome, gate, allowance }: Decision, isLogged: boolean): void {
    if (outcome === 'deduped') this.deduped(wake, gate === 'insert' ? 'durable' : 'windowed', isLogged);
    if (outcome === 'rate_limited') this.refused(wake, allowance, isLogged);
  }

  /** AC-OFFICE-ASSIGN-RATE-002.2 and .3: what could not be determined is absent, not empty. */
  admittedUnjudged(wake: Wake, { reason, error }: Degraded): void {
    this.count(reason);
    switch (reason) {
      case 'count_read_failed':
        this.logger.warn(
          { ...taskFields(wake), ...actorField(wake), allowance: ALLOWANCE_LIMIT, error: describe(error) },
          'an assignment wake was admitted uncounted: the count could not be read',
        );
        break;
      case 'task_unattributed':
        this.logger.warn(
          { reason: wake.reason, allowance: ALLOWANCE_LIMIT, ...actorField(wake) },
          'an assignment wake was admitted uncounted: it names no task',
        );
        break;
    }
  }

  /** A producer enqueued without a key, and says why. */
  keyless(reason: string, keyless: Keyless): void {
    this.keylesses.increment({ reason: reasonLabel(reason), cause: keyless.cause });
    if (keyless.cause === 'unresolved') this.logger.log({ reason, ...keyless }, 'a wake has no key');
  }

  /**
   * Windowed: the look-back recognised the key, as expected whenever a delivery is repeated. Durable: the unique index
   * refused it, because two deliveries raced or this one came after the look-back.
   */
  private deduped(wake: Wake, kind: 'windowed' | 'durable', isLogged: boolean): void {
    this.dedups.increment({ reason: reasonLabel(wake.reason), kind, queue: 'runs' });
    if (!isLogged) return;
    const fields = { key: wake.idempotencyKey, reason: wake.reason };
    if (kind === 'windowed') this.logger.log(fields, 'a redelivered wake was recognised');
    else
      this.logger.warn(
        { ...fields, agent: wake.agentProfileId },
        'a wake was refused by its key, which a run holds',
      );
  }

  /** AC-OFFICE-ASSIGN-RATE-003.3 */
  private refused(wake: Wake, allowance: Allowance | null, isLogged: boolean): void {
    this.count('allowance_exhausted');
    if (!isLogged || allowance === null) return;
    this.logger.warn(
      {
        ...taskFields(wake),
        ...actorField(wake),
        observed_count: allowance.observed,
        allowance: allowance.limit,
      },
      'an assignment wake was refused: its task has used up its allowance',
    );
  }

  private count(reason: AllowanceReason): void {
    this.allowances.increment({ reason });
  }
}

function taskFields(wake: Wake) {
  return { task_id: wake.facts.taskId, assignee_agent_profile_id: wake.agentProfileId };
}

function actorField(wake: Wake) {
  return wake.facts.actorId === null ? {} : { acting_agent_id: wake.facts.actorId };
}

/** The innermost message, which names the failure itself. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : describe(error.cause);
}
