import { causesOf } from '../../src/errors/causes.js';
import { ReveilleError } from '../../src/errors/reveille-error.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import type { Decision } from '../../src/scheduler/decision.js';
import { CANCELED, DEADLOCK, DatabaseError } from './store/database-error.js';
import type { Entry } from './journal.js';

/** The statements that a wake is decided without when it must be. */
const COSTS_NO_WAKE = [
  'count assignments',
  'look for an equal decision',
  'keep a decision',
  'count an equal decision',
];

/** What the answer to one wake says that was not so, in words; nothing when all is well. */
export function untrueOf(entry: Entry, tookTurns: boolean): readonly string[] {
  const { answer } = entry;
  if (answer === undefined) return ['never answered'];
  if ('error' in answer) return untrueOfError(entry, answer.error);
  const untrue = entry.sawNoPause ? [] : ['decided under a kill switch that was pressed all the time'];
  if (!entry.namesWhatWasThere) untrue.push('told of a run that was not there');
  return [...untrue, ...untrueOfOutcome(entry, answer.decision, tookTurns)];
}

function untrueOfOutcome(entry: Entry, decision: Decision, tookTurns: boolean): readonly string[] {
  switch (decision.outcome) {
    case 'queued':
      return untrueOfAdmission(entry, decision, tookTurns);
    case 'coalesced':
      return [];
    case 'deduped':
      return entry.namesWhoHasKey ? [] : ['called a redelivery of a run without its key'];
    case 'rate_limited':
      return entry.mostSeen < ALLOWANCE_LIMIT ? ['refused early'] : [];
  }
}

/** In its turn a wake counts exactly; without turns there must have been room at some instant of its judgement. */
function untrueOfAdmission(entry: Entry, { allowance }: Decision, tookTurns: boolean): readonly string[] {
  if (typeof allowance?.observed !== 'number') return [];
  if (tookTurns && (entry.seenByInsert ?? 0) >= ALLOWANCE_LIMIT) return ['admitted beyond the allowance'];
  return entry.leastSeen < ALLOWANCE_LIMIT ? [] : ['admitted though there never was room'];
}

/** An error is an answer when it says what happened: a pause, or a statement that the database did not carry out. */
function untrueOfError({ sawPause, refused }: Entry, error: unknown): readonly string[] {
  const causes = causesOf(error);
  const known = causes.find((cause) => cause instanceof ReveilleError);
  if (known?.code === 'workspace_paused') return sawPause ? [] : ['told of a pause that was none'];
  const codes = causes.flatMap((cause) => (cause instanceof DatabaseError ? [cause.code] : []));
  if (codes.includes(DEADLOCK)) return [];
  if (!codes.includes(CANCELED) || refused === null) return [`failed with ${String(error)}`];
  return COSTS_NO_WAKE.includes(refused) ? [`lost because the database refused to ${refused}`] : [];
}
