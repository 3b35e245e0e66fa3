import { RETRY_DELAYS_MS } from '../../src/runs/retry-policy.js';
import { asOutsider } from './outsider.js';
import type { TestReveille } from './reveille.js';

/** Lets the run have been tried again as often as it may be: its next failure is the last. */
export async function spendRetries(reveille: TestReveille, runId: string): Promise<void> {
  await asOutsider(reveille, (outsider) =>
    outsider.query('UPDATE runs SET retry_count = $1 WHERE id = $2', [RETRY_DELAYS_MS.length, runId]),
  );
}
