/** What the demo has seen, for people. */
import { printedIn } from './loop.mjs';

/** @typedef {import('./loop.mjs').Outcome} Outcome */
/** @typedef {import('./loop.mjs').Run} Run */
/** @typedef {Record<string, string | number>} Row */

/**
 * @param {Outcome} outcome
 * @returns {string}
 */
export function report(outcome) {
  return [
    section('Hand-overs that the agents made', handOvers(outcome)),
    section('Runs, the first asked for by a person', outcome.runs.map(runRow)),
    section('Sessions: one conversation to an agent, gone on with at every turn', sessions(outcome)),
    section('Counters', counters(outcome)),
    verdict(outcome),
  ].join('\n\n');
}

/**
 * @param {string} title
 * @param {readonly Row[]} rows
 */
function section(title, rows) {
  return `${title}\n\n${table(rows)}`;
}

/**
 * @param {readonly Row[]} rows at least one; the keys of the first are the headings
 */
function table(rows) {
  const headings = Object.keys(rows[0] ?? {});
  const cells = [headings, ...rows.map((row) => headings.map((heading) => String(row[heading])))];
  const widths = headings.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) => `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

/** @param {Outcome} outcome */
function handOvers({ decisions }) {
  return decisions.map(({ from, to, outcome, retryAt }, index) => ({
    '#': index + 1,
    from,
    to,
    outcome,
    'would pass at': retryAt ?? '',
  }));
}

/** @param {Run} run */
function runRow(run) {
  return {
    agent: run.agentProfileId,
    'asked for by': run.actorType ?? '',
    'asked for at': run.requestedAt,
    waited: milliseconds(run.requestedAt, run.claimedAt),
    worked: milliseconds(run.claimedAt, run.finishedAt),
    wakes: run.coalescedCount,
    status: run.status,
    process: printedIn(run).pid,
    session: run.sessionId ?? '',
  };
}

/**
 * @param {string | null} from
 * @param {string | null} to
 */
function milliseconds(from, to) {
  return from === null || to === null ? '' : `${Date.parse(to) - Date.parse(from)} ms`;
}

/** @param {Outcome} outcome */
function sessions({ sessions: all, runs }) {
  return all.map(({ id, agentProfileId, state }) => ({
    session: id,
    agent: agentProfileId ?? '',
    state,
    turns: runs.filter(({ sessionId }) => sessionId === id).length,
  }));
}

/** @param {Outcome} outcome */
function counters({ metrics }) {
  return Object.entries(metrics).map(([counter, value]) => ({ counter, value }));
}

/** @param {Outcome} outcome */
function verdict({ decisions, agentAdmitted, agentRefused }) {
  const retryAt = decisions.at(-1)?.retryAt ?? 'an unknown instant';
  return `The loop has ended by itself: ${agentAdmitted} hand-overs by agents admitted, ${agentRefused} refused until ${retryAt}.`;
}
