import { Injectable } from '@nestjs/common';
import type { Verdict } from '../admission-gate.js';
import { COMMENT_KEY_PREFIX } from '../admission-limits.js';
import type { WakeFacts } from '../wake-facts.js';
import type { Wake } from '../wake.js';

/**
 * An equal wake of the last five seconds that nobody has claimed yet takes this one in.
 *
 * Equal: same agent, same reason, same task. A payload whose task cannot be compared is equal to none.
 */
@Injectable()
export class CoalescingGate {
  readonly name = 'coalescing';
  readonly onReadFailure = 'raise';

  async judge(wake: Wake, facts: WakeFacts): Promise<Verdict> {
    if (!mayMerge(wake)) return { kind: 'not_in_scope' };
    const into = await facts.mergeTarget();
    return into === null ? { kind: 'pass' } : { kind: 'stop', stop: { outcome: 'coalesced', into } };
  }
}

function mayMerge(wake: Wake): boolean {
  return wake.facts.taskId !== null && wake.idempotencyKey?.startsWith(COMMENT_KEY_PREFIX) !== true;
}
