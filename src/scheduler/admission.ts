import { Inject, Injectable } from '@nestjs/common';
import type { AdmissionGate, Degraded, Stop, Verdict } from './admission-gate.js';
import { ADMISSION_GATES } from './admission-order.js';
import type { Allowance } from './allowance.js';
import { FactReadError, type WakeFacts } from './wake-facts.js';
import type { Wake } from './wake.js';

/** What the gates together say of a wake. */
export interface Judgement {
  /** The stop, and the gate it came from; null when every gate let the wake through. */
  readonly stopped: { readonly gate: string; readonly stop: Stop } | null;
  readonly allowance: Allowance | null;
  /** Set when a gate let the wake through without having been able to judge it. */
  readonly degraded: Degraded | null;
}

/** Asks the gates one after another; the first that stops a wake ends it. */
@Injectable()
export class Admission {
  constructor(@Inject(ADMISSION_GATES) private readonly gates: readonly AdmissionGate[]) {}

  /** @throws the error of a gate whose negative answer, or failed read, is the caller's error. */
  async judge(wake: Wake, facts: WakeFacts): Promise<Judgement> {
    let allowance: Allowance | null = null;
    let degraded: Degraded | null = null;
    for (const gate of this.gates) {
      const verdict = await ask(gate, wake, facts);
      switch (verdict.kind) {
        case 'pass':
          allowance = verdict.allowance ?? allowance;
          break;
        case 'not_in_scope':
          break;
        case 'degraded':
          allowance = verdict.allowance;
          degraded = verdict;
          break;
        case 'stop':
          return { stopped: { gate: gate.name, stop: verdict.stop }, allowance, degraded };
      }
    }
    return { stopped: null, allowance, degraded };
  }
}

/** Asks one gate, and does what the gate has declared when its own read fails. */
export async function ask(gate: AdmissionGate, wake: Wake, facts: WakeFacts): Promise<Verdict> {
  try {
    return await gate.judge(wake, facts);
  } catch (error) {
    if (!(error instanceof FactReadError)) throw error;
    switch (gate.onReadFailure) {
      case 'raise':
        throw error;
      case 'closed':
        throw gate.closed(error);
      case 'open':
        // There is nothing left that the wake could be admitted to, and a shutdown is no degraded read.
        if (error.isCutShort) throw error;
        return gate.open(error);
    }
  }
}
