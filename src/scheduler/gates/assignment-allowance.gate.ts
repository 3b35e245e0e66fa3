import { Injectable } from '@nestjs/common';
import type { Verdict } from '../admission-gate.js';
import { ALLOWANCE_LIMIT, ALLOWANCE_WINDOW_MS } from '../admission-limits.js';
import { allowanceOf } from '../allowance.js';
import type { WakeFacts } from '../wake-facts.js';
import type { Wake } from '../wake.js';

/**
 * At most N agent-made assignment wakes for one task in any window W (REQ-OFFICE-ASSIGN-RATE-001), whoever the
 * assignees are: agents that hand a task back and forth share one allowance.
 *
 * The scope is the payload's shape, asked in this order: reason, actor, task. It consumes nothing itself: what is
 * counted are the rows that were inserted, so a merge that relabels a queued row's actor moves the count by one
 * (accepted by AC-OFFICE-ASSIGN-RATE-001.4).
 */
@Injectable()
export class AssignmentAllowanceGate {
  readonly name = 'assignment_allowance';
  readonly onReadFailure = 'open';

  async judge(wake: Wake, facts: WakeFacts): Promise<Verdict> {
    if (wake.reason !== 'task_assigned') return { kind: 'not_in_scope' };
    if (wake.facts.actorType !== 'agent') return { kind: 'not_in_scope' };
    if (wake.facts.taskId === null || wake.facts.taskId === '') {
      return { kind: 'degraded', reason: 'task_unattributed', allowance: allowanceOf(null) };
    }
    const admitted = await facts.admittedAssignments();
    if (admitted.length < ALLOWANCE_LIMIT) return { kind: 'pass', allowance: allowanceOf(admitted.length) };
    const allowance = allowanceOf(admitted.length, roomAt(admitted));
    return { kind: 'stop', stop: { outcome: 'rate_limited', allowance } };
  }

  open(cause: unknown): Verdict {
    return { kind: 'degraded', reason: 'count_read_failed', allowance: allowanceOf(null), error: cause };
  }
}

/** There is room again when the N-th newest leaves the window, exactly W after it was admitted. */
function roomAt(newestFirst: readonly number[]): number | null {
  const leaving = newestFirst[ALLOWANCE_LIMIT - 1];
  return leaving === undefined ? null : leaving + ALLOWANCE_WINDOW_MS;
}
