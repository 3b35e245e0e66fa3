import type { Run } from '../../src/runs/run.schema.js';
import { COMMENT_KEY_PREFIX } from '../../src/scheduler/admission-limits.js';
import type { Entry } from './journal.js';
import type { World } from './world.js';

/** Where the rows that are left and the answers that were given do not agree, in words; nothing when they do. */
export async function disagreements(world: World, before: readonly Run[]): Promise<readonly string[]> {
  const { house, journal, store } = world;
  const runs = store.runs.seenBy(null);
  const found: string[] = [];
  for (const run of runs) {
    const answers = await house.wakes.of(run);
    const traces = answers.map(({ payload, idempotencyKey }) => trace(payload, idempotencyKey));
    const told = toldOf(run, journal.entries, before);
    if (!isSame(traces, told)) found.push(`a run answers ${show(traces)}, and ${show(told)} were told so`);
    if (run.coalescedCount !== told.length) found.push(`a run has counted ${run.coalescedCount}`);
    const delivered = journal.delivered.get(run.id);
    const payloads = answers.map(({ payload }) => payload);
    if (delivered !== undefined && !isSame(payloads, delivered))
      found.push(`${show(payloads)} were answered by a run that was handed out with ${show(delivered)}`);
  }
  return [
    ...found,
    ...strays(world, runs),
    ...repeated(keysOf(runs)),
    ...repeated(keysOf(store.ledger.seenBy(null))),
  ];
}

/** What holds only where turns are taken: equal wakes end in one run, and a key is in one of its two places. */
export function doubles({ store }: World): readonly string[] {
  const runs = store.runs.seenBy(null);
  const waiting = runs
    .filter(({ status, idempotencyKey }) => status === 'queued' && isNoComment(idempotencyKey))
    .map(
      ({ agentProfileId, reason, taskId }) =>
        `equal wakes of ${agentProfileId}, ${reason}, ${String(taskId)}`,
    );
  return repeated([...waiting, ...keysOf(runs), ...keysOf(store.ledger.seenBy(null))]);
}

function keysOf(rows: readonly Pick<Run, 'idempotencyKey'>[]): readonly string[] {
  return rows.flatMap(({ idempotencyKey }) => idempotencyKey ?? []).map((key) => `rows of key ${key}`);
}

function repeated(all: readonly string[]): readonly string[] {
  return all.filter((what, place) => all.indexOf(what) < place);
}

/** The wakes whose callers were told that this run answers them, and the one that it was made for before. */
function toldOf(run: Run, entries: readonly Entry[], before: readonly Run[]): readonly string[] {
  const told = entries.filter(({ answer, isKept }) => {
    if (!isKept || answer === undefined || 'error' in answer) return false;
    const { outcome, runId } = answer.decision;
    return runId === run.id && (outcome === 'queued' || outcome === 'coalesced');
  });
  return [
    ...before.filter(({ id }) => id === run.id).map((old) => trace(old.payload, old.idempotencyKey)),
    ...told.map(({ request }) => trace(request.payload, request.idempotencyKey ?? null)),
  ];
}

/** Runs that a caller was told of and that never came to be, and entries of the ledger whose run is gone. */
function strays({ journal, store }: World, runs: readonly Run[]): readonly string[] {
  const been = new Set(store.runs.past.map(({ id }) => id));
  const lost = journal.entries.flatMap(({ answer, isKept, request }) => {
    if (!isKept || answer === undefined || 'error' in answer) return [];
    const { runId } = answer.decision;
    return runId === null || been.has(runId) ? [] : [`${request.payload} was answered by a run that is none`];
  });
  const left = new Set(runs.map(({ id }) => id));
  const orphans = store.ledger.seenBy(null).filter(({ runId }) => !left.has(runId));
  return [...lost, ...orphans.map(({ payload }) => `${payload} is in the ledger of no run`)];
}

function isNoComment(key: string | null): boolean {
  return key?.startsWith(COMMENT_KEY_PREFIX) !== true;
}

function trace(payload: string, key: string | null): string {
  return `${payload} under ${key ?? 'no key'}`;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return [...some].sort().join() === [...others].sort().join();
}

function show(things: readonly string[]): string {
  return things.length === 0 ? 'none' : things.join(', ');
}
