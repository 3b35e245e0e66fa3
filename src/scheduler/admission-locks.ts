import { Injectable, Logger } from '@nestjs/common';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import type { Wake } from './wake.js';

/**
 * Makes wakes that could be each other's redelivery, merge target or share of an allowance take turns.
 *
 * Without it, equal wakes that arrive together each find nothing to merge with. The criteria ask for no lock
 * (AC-OFFICE-ASSIGN-RATE-002.1) but forbid a lost wake: one that cannot be had in time is done without.
 */
@Injectable()
export class AdmissionLocks {
  private readonly logger = new Logger(AdmissionLocks.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
  ) {}

  /** Waits for the wake's turn, which lasts until the open transaction ends. */
  async take(
    wake: Pick<Wake, 'agentProfileId' | 'reason' | 'facts' | 'idempotencyKey' | 'keyScope'>,
  ): Promise<void> {
    try {
      await this.transactions.savepoint(() =>
        this.dialect.lock(this.transactions.writing(), lockNames(wake)),
      );
    } catch (error) {
      if (!this.dialect.isLockTimeout(error)) throw error;
      this.logger.warn(
        { reason: wake.reason },
        'a wake was decided without its turn, which could not be had',
      );
    }
  }
}

/** In one order for everybody, so that two wakes never wait for each other. */
function lockNames({
  agentProfileId,
  reason,
  facts,
  idempotencyKey,
  keyScope,
}: Parameters<AdmissionLocks['take']>[0]): string[] {
  const subject =
    facts.taskId === null || facts.taskId === ''
      ? `taskless:${agentProfileId}:${reason}`
      : `task:${facts.taskId}`;
  const key = idempotencyKey === null ? [] : [`key:${keyScope}:${idempotencyKey}`];
  return [subject, ...key].sort();
}
