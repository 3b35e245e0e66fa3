import { Inject, Injectable } from '@nestjs/common';
import { knownErrorIn } from '../errors/known-error.js';
import { ask } from './admission.js';
import type { AdmissionGate, Verdict } from './admission-gate.js';
import { ADMISSION_GATES } from './admission-order.js';
import type { Explanation, GateReport } from './explanation.js';
import type { QueueOutcome } from './queue-outcome.js';
import { RunQueue } from './run-queue.js';
import type { Wake } from './wake.js';
import type { WakeFacts } from './wake-facts.js';

/** How a wake ended, and at which step. */
interface Ending {
  readonly report: GateReport;
  readonly outcome: QueueOutcome | 'passed';
  readonly error: Explanation['error'];
}

/** Asks the same gates in the same order as admission does, and tells what each says instead of acting on it. */
@Injectable()
export class Explainer {
  constructor(
    @Inject(ADMISSION_GATES) private readonly gates: readonly AdmissionGate[],
    private readonly queue: RunQueue,
  ) {}

  /** @throws the error of a failed read that no caller may branch on. */
  async explain(wake: Wake, facts: WakeFacts): Promise<Explanation> {
    const reports: GateReport[] = [];
    for (const [place, gate] of this.gates.entries()) {
      const { report, outcome, error } = await this.asked(gate, wake, facts);
      reports.push(report);
      if (outcome === 'passed') continue;
      const unreached = [...this.gates.slice(place + 1).map(({ name }) => name), 'insert' as const];
      reports.push(
        ...unreached.map((name) => ({ gate: name, verdict: 'not_reached' as const, detail: null })),
      );
      return { outcome, error, gates: reports };
    }
    const { report, outcome } = await this.insertion(wake, facts);
    return { outcome, error: null, gates: [...reports, report] };
  }

  private async asked(gate: AdmissionGate, wake: Wake, facts: WakeFacts): Promise<Ending> {
    try {
      return await this.ending(gate, wake, await ask(gate, wake, facts));
    } catch (error) {
      const known = knownErrorIn(error);
      if (known === undefined) throw error;
      const detail = { error: known.code, message: known.message };
      return { report: { gate: gate.name, verdict: 'stop', detail }, outcome: 'none', error: known.code };
    }
  }

  private async ending(gate: AdmissionGate, wake: Wake, verdict: Verdict): Promise<Ending> {
    const report = { gate: gate.name, verdict: verdict.kind, detail: detailOf(verdict) };
    if (verdict.kind !== 'stop') return { report, outcome: 'passed', error: null };
    // A merge carries the wake's key into the ledger, where it may be held already.
    const { stop } = verdict;
    const owner =
      stop.outcome === 'coalesced' ? await this.queue.ledgerOwnerOfKey(wake, stop.into.workspaceId) : null;
    return { report, outcome: owner === null ? stop.outcome : 'deduped', error: null };
  }

  /** The sixth step, which only a key that is held beyond the look-back can stop. */
  private async insertion(
    wake: Wake,
    facts: WakeFacts,
  ): Promise<Pick<Ending, 'report'> & { outcome: QueueOutcome }> {
    const agent = await facts.agent();
    const holder = agent === null ? null : await this.queue.ownerOfKey(wake, agent.workspaceId);
    if (holder === null)
      return { report: { gate: 'insert', verdict: 'pass', detail: null }, outcome: 'queued' };
    return { report: { gate: 'insert', verdict: 'stop', detail: { runId: holder.id } }, outcome: 'deduped' };
  }
}

/** What the gate read, in the words of the decision. */
function detailOf(verdict: Verdict): GateReport['detail'] {
  switch (verdict.kind) {
    case 'not_in_scope':
      return null;
    case 'pass':
      return verdict.allowance === undefined ? null : { allowance: verdict.allowance };
    case 'degraded':
      return { reason: verdict.reason, allowance: verdict.allowance };
    case 'stop':
      return detailOfStop(verdict.stop);
  }
}

function detailOfStop(stop: Extract<Verdict, { kind: 'stop' }>['stop']): GateReport['detail'] {
  switch (stop.outcome) {
    case 'deduped':
      return { runId: stop.run.id };
    case 'coalesced':
      return { runId: stop.into.id, coalescedCount: stop.into.coalescedCount };
    case 'rate_limited':
      return { allowance: stop.allowance };
  }
}
