import { Injectable } from '@nestjs/common';
import type { Verdict } from '../admission-gate.js';
import type { WakeFacts } from '../wake-facts.js';
import type { Wake } from '../wake.js';

/** A key seen in the last 24 hours marks a redelivery. A wake without one is never a redelivery. */
@Injectable()
export class IdempotencyGate {
  readonly name = 'idempotency';
  readonly onReadFailure = 'raise';

  async judge(wake: Wake, facts: WakeFacts): Promise<Verdict> {
    if (wake.idempotencyKey === null) return { kind: 'not_in_scope' };
    const run = await facts.keyHolder();
    return run === null ? { kind: 'pass' } : { kind: 'stop', stop: { outcome: 'deduped', run } };
  }
}
