import fc from 'fast-check';
import type { Run } from '../../src/runs/run.schema.js';
import { aDecision, aPause, aRun, aWake } from '../support/rows.js';
import type { Bench } from './bench.js';

/** A bench, and how the names of all that is there begin, by which it is told from what else is in the store. */
interface Place {
  readonly bench: Bench;
  readonly name: string;
}

/** One question to a store, with the values that it is asked with. */
export class Statement {
  constructor(
    private readonly shown: string,
    readonly ask: (place: Place) => Promise<unknown>,
  ) {}

  toString(): string {
    return this.shown;
  }
}

const LIMIT = 100;

/** One of each more often than all others, so that statements meet what others have done. */
const mostly = <T>(often: T, ...others: T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(often) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const id = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6');
const agent = mostly('a1', 'a2');
const key = mostly('k1', 'k2', 'task_comment:c');
const task = mostly('t1', 't2', '');
const instant = fc.nat(3);
const status = mostly<Run['status']>('queued', 'claimed', 'finished');
const reason = mostly('task_assigned', 'heartbeat');
const actor = mostly<string | null>('agent', 'user', null);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 3 });

function statement<T extends object>(
  what: string,
  values: { [K in keyof T]: fc.Arbitrary<T[K]> },
  ask: (place: Place, values: T) => Promise<unknown>,
): fc.Arbitrary<Statement> {
  return fc
    .record<T>(values)
    .map((given) => new Statement(`${what} ${fc.stringify(given)}`, (place) => ask(place, given)));
}

const scoped = ({ name }: Place, idempotencyKey: string) => ({
  workspaceId: name,
  keyScope: '',
  idempotencyKey,
});

/** Puts a run there that may or may not be found by what is asked. */
export const insertions = statement(
  'insert',
  {
    id,
    agentProfileId: agent,
    reason,
    idempotencyKey: fc.constantFrom(null, 'k1', 'k2', 'task_comment:c'),
    taskId: fc.option(task, { freq: 9 }),
    status,
    actorType: actor,
    requestedAt: instant,
    scheduledRetryAt: mostly<number | null>(null, 2),
  },
  ({ bench, name }, run) =>
    bench.runs.insert(
      aRun({ ...run, id: name + run.id, agentProfileId: name + run.agentProfileId, workspaceId: name }),
    ),
);

const writes = [
  statement('merge', { id, actorType: actor }, ({ bench, name }, { id, actorType }) =>
    bench.runs.merge(aRun({ id: name + id }), { payload: '{"n":1}', actorType, actorId: 'x' }),
  ),
  statement(
    'note',
    { id, runId: id, idempotencyKey: maybe(key), requestedAt: instant },
    ({ bench, name }, wake) =>
      bench.runs.insertWake(
        aWake({ ...wake, id: name + wake.id, runId: name + wake.runId, workspaceId: name }),
      ),
  ),
  statement('forget', { key }, (place, { key }) => place.bench.runs.forgetMergedKey(scoped(place, key))),
  statement('delete', { id }, ({ bench, name }, { id }) => bench.deleteRun(name + id)),
  statement('change', { id, from: status, to: status }, ({ bench, name }, { id, from, to }) =>
    bench.claims.change(name + id, from, { status: to, claimTokenHash: to === 'claimed' ? 'hash' : null }),
  ),
  statement('pause', { id }, ({ bench, name }, { id }) =>
    bench.workspaces.insertPause(aPause({ id: name + id, workspaceId: name })),
  ),
  statement('resume', {}, ({ bench, name }) =>
    bench.workspaces.releasePause(name, { releasedAt: 1, releasedBy: 'x', releasedByKind: 'user' }),
  ),
];

/** The instants differ as the ids do: which of two equal decisions of one instant is the newest is left open. */
const decisions = [
  statement(
    'keep',
    { place: fc.nat(3), taskId: maybe(task), reason },
    ({ bench, name }, { place, ...kept }) =>
      bench.decisions.insert(
        aDecision({ ...kept, id: `${name}d${place}`, agentProfileId: name, firstAt: place }),
      ),
  ),
  statement('keep again', { place: fc.nat(3), lastAt: instant }, ({ bench, name }, { place, lastAt }) => {
    const latest = { lastAt, gate: 'insert', actorType: 'agent', actorId: 'x', runId: 'r', allowance: null };
    return bench.decisions.addTo(`${name}d${place}`, latest);
  }),
  statement(
    'equal decision',
    { taskId: maybe(task), reason, after: instant },
    ({ bench, name }, { after, ...kept }) =>
      bench.decisions.findEqual(aDecision({ ...kept, agentProfileId: name }), after - 1),
  ),
];

/** What most depends on what is there. */
const searches = [
  statement(
    'mergeable',
    { agent, reason, taskId: task, after: instant },
    ({ bench, name }, { agent, after, ...equal }) =>
      bench.runs.newestMergeable({
        ...equal,
        agentProfileId: name + agent,
        after: after - 1,
        exceptKeyPrefix: 'task_comment:',
      }),
  ),
  statement('count', { task, start: instant, end: instant }, ({ bench, name }, { task, start, end }) =>
    bench.runs.agentAssignments(name, task, { start: start - 1, end }),
  ),
];

const questions = [
  statement('find', { id }, ({ bench, name }, { id }) => bench.runs.find(name + id)),
  statement('own key', { key, after: instant }, (place, { key, after }) =>
    place.bench.runs.findByOwnKey(scoped(place, key), after - 1),
  ),
  statement('merged key', { key, after: instant }, (place, { key, after }) =>
    place.bench.runs.findByMergedKey(scoped(place, key), after - 1),
  ),
  statement('wakes', { id }, ({ bench, name }, { id }) => bench.runs.wakesOf(name + id, LIMIT)),
  statement(
    'agent',
    { agent },
    async ({ bench, name }, { agent }) => (await bench.agents.find(name + agent))?.id,
  ),
  statement('open pause', {}, ({ bench, name }) => bench.workspaces.openPause(name)),
  statement('lock', { id }, ({ bench, name }, { id }) => bench.claims.lock(name + id)),
  statement('oldest due', { agent, now: instant }, ({ bench, name }, { agent, now }) =>
    bench.claims.oldestDue(name + agent, now),
  ),
  statement('waiting agents', {}, async ({ bench, name }) => {
    await bench.catchUp();
    const agents = await bench.claims.lockWaitingAgents(
      { workspaceId: name, agentProfileIds: null },
      [],
      LIMIT,
    );
    return agents.map(({ id }) => id).sort();
  }),
];

export const statements: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 1, arbitrary: insertions },
  { weight: 3, arbitrary: fc.oneof(...writes) },
  { weight: 4, arbitrary: fc.oneof(...searches) },
  { weight: 5, arbitrary: fc.oneof(...questions) },
  { weight: 2, arbitrary: fc.oneof(...decisions) },
);
