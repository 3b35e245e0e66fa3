import { LEASE_MS } from '../../src/office/reactivity/note-book.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { type Death, MortalProcesses, type Sent } from '../support/mortal-process.js';
import { pick } from '../support/pick.js';
import type { TestReveille } from '../support/reveille.js';
import { MUTATIONS, type OwedWake } from './killed-mutations.js';
import { NOW, type Stage, type Stages, stagesOn } from './killed-stages.js';
import { type Stored, storedIn } from './killed-stored.js';

/** Every how many-th death is died, beside a commit and elsewhere; the long form dies all of them. */
const EVERY = process.env['REVEILLE_DEATHS'] === 'all' ? { commit: 1, other: 1 } : { commit: 3, other: 12 };

/** How many processes load while others die. */
const AHEAD = 2;

/** Generous: the long form takes as long as it takes. */
const PATIENCE_MS = 60 * 60_000;

onEachDatabase('a process that is killed between any two statements', (database) => {
  const processes = new MortalProcesses(AHEAD);
  afterAll(() => processes.discard());

  for (const [name, setUp] of Object.entries(MUTATIONS)) {
    it(
      `leaves nothing of ${name}, or all of it with every wake decided once`,
      async () => {
        const stages = await stagesOn(database, setUp);
        try {
          const sent = await livedThrough(processes, stages);
          for (const death of chosenFrom(sent, database)) await diedOf(death, sent, { processes, stages });
        } finally {
          await stages.close();
        }
      },
      PATIENCE_MS,
    );
  }
});

interface Theatre {
  readonly processes: MortalProcesses;
  readonly stages: Stages;
}

/** What is sent when nobody dies, after which there is nothing left to be healed. */
async function livedThrough(processes: MortalProcesses, stages: Stages): Promise<Sent> {
  const stage = await stages.next();
  const sent = await processes.next().live(orderFor(stage));
  await stage.onceLeft(async (reveille) => {
    const done = await storedIn(reveille, stage.scene.workspaceId);
    await expectAll(reveille, stage, done);
    expect(await healed(reveille, stage)).toEqual(done);
  });
  return sent;
}

async function diedOf(death: Death, sent: Sent, { processes, stages }: Theatre): Promise<void> {
  const stage = await stages.next();
  const lastStatement = await processes.next().die(orderFor(stage), death);
  expect(lastStatement).toBe(pick(sent[death.strand], death.statement - 1));
  await stage.onceLeft(async (reveille) => {
    const found = await storedIn(reveille, stage.scene.workspaceId);
    try {
      if (!isCommitted(death, sent, found.comments.length + found.events.length > stage.before.events.length))
        expect(await healed(reveille, stage)).toEqual(stage.before);
      else await expectAll(reveille, stage, await healed(reveille, stage));
    } catch (cause) {
      throw new Error(`Not healed after ${shown(death)} ${lastStatement}`, { cause });
    }
  });
}

/** Whether the mutation has happened: known, but for a death in the midst of its commit. */
function isCommitted({ strand, statement, moment }: Death, sent: Sent, isFound: boolean): boolean {
  const commit = sent.mutation.indexOf('COMMIT') + 1;
  if (strand === 'numbering' || statement > commit) return true;
  return statement === commit && (moment === 'after' || (moment === 'during' && isFound));
}

/** The databases begin apart, to cover more together. */
function chosenFrom(sent: Sent, database: DatabaseName): readonly Death[] {
  const isByCommit = ({ strand, statement }: Death) =>
    [statement - 2, statement - 1].some((index) => sent[strand][index] === 'COMMIT');
  const sample = (deaths: readonly Death[], every: number) =>
    deaths.filter((_, index) => index % every === (database === 'sqlite' ? 0 : Math.floor(every / 2)));
  const deaths = deathsIn(sent);
  return [
    ...sample(deaths.filter(isByCommit), EVERY.commit),
    ...sample(
      deaths.filter((death) => !isByCommit(death)),
      EVERY.other,
    ),
  ];
}

/** Before every statement; for a commit also while it is on its way, and when it has come back. */
function deathsIn(sent: Sent): readonly Death[] {
  // Later passes number what the first has left, and there may be none.
  const firstPass = sent.numbering.slice(0, sent.numbering.indexOf('COMMIT') + 1);
  return [...deathsAt('mutation', sent.mutation), ...deathsAt('numbering', firstPass)];
}

function deathsAt(strand: keyof Sent, statements: readonly string[]): readonly Death[] {
  return statements.flatMap((sql, index) => {
    const moments = sql === 'COMMIT' ? (['before', 'during', 'after'] as const) : (['before'] as const);
    return moments.map((moment) => ({ strand, statement: index + 1, moment }));
  });
}

function orderFor({ databaseUrl, scene }: Stage) {
  const { taskId, changes, actor } = scene;
  return { databaseUrl, now: NOW, taskId, changes, actor };
}

/** Sweeps until nothing moves any more, and answers what is there then. */
async function healed(reveille: TestReveille, { scene }: Stage): Promise<Stored> {
  reveille.clock.set(NOW);
  let after = await storedIn(reveille, scene.workspaceId);
  for (;;) {
    const before = after;
    reveille.clock.advance(LEASE_MS + 1);
    await reveille.get(Sweeps).sweep();
    after = await storedIn(reveille, scene.workspaceId);
    if (JSON.stringify(after) === JSON.stringify(before)) return after;
  }
}

async function expectAll(reveille: TestReveille, { scene, before }: Stage, after: Stored): Promise<void> {
  const { taskId, changes, owed, earlier } = scene;
  const changed = before.tasks.map((task) =>
    task.id === taskId ? { ...task, ...scene.after, updatedAt: NOW } : task,
  );
  expect(after.tasks).toEqual(changed);
  expect(after.comments).toMatchObject(changes.comment === undefined ? [] : [changes.comment]);
  expect(after.notes).toEqual([]);
  const wakes = [...earlier, ...owed(after.comments[0]?.id ?? '')];
  expect(await wakesIn(reveille, after)).toEqual(wakes.map(told).sort());
  expectEvents(before, after, changes.assigneeAgentProfileId !== undefined);
}

/** Every wake that any run answers: each is told of once, whether it made the run or was merged into it. */
async function wakesIn(reveille: TestReveille, { runs }: Stored): Promise<readonly string[]> {
  const wakes: string[] = [];
  for (const run of runs) {
    expect(run.status).toBe('queued');
    const answered = await reveille.get(RunsService).wakesOf(run);
    expect(answered).toHaveLength(run.coalescedCount);
    wakes.push(...answered.map(({ idempotencyKey: key }) => told({ ...run, key })));
  }
  return wakes.sort();
}

function told({ agentProfileId, reason, key }: OwedWake): string {
  return JSON.stringify([agentProfileId, reason, key]);
}

/** Of the mutation once, of the conversation that it ended, and of every run that it made; all of them numbered. */
function expectEvents(before: Stored, after: Stored, isHandedOver: boolean): void {
  const isNew = ({ id }: { readonly id: string }) =>
    ![...before.events, ...before.runs].some((old) => old.id === id);
  const events = after.events.filter(isNew);
  expect(events.map(({ type }) => type).sort()).toEqual([
    ...after.runs.filter(isNew).map(() => 'run.queued'),
    ...(isHandedOver ? ['session.state_changed'] : []),
    'task.updated',
  ]);
  const numbers = events.map(({ number }) => number);
  expect(numbers).not.toContain(null);
  expect(new Set(numbers).size).toBe(numbers.length);
}

function shown({ strand, statement, moment }: Death): string {
  return `a death ${moment} statement ${statement} of the ${strand}:`;
}
