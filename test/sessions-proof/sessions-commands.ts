import fc from 'fast-check';
import { ReveilleError } from '../../src/errors/reveille-error.js';
import type { EnsuredSession } from '../../src/sessions/office-sessions.js';
import type { Session } from '../../src/sessions/session.schema.js';
import { type SessionState, SESSION_STATES } from '../../src/sessions/session-state.js';
import type { ParticipantRole } from '../../src/tasks/task.schema.js';
import {
  type Expected,
  type ModelRequest,
  type ModelRow,
  type ModelTask,
  type SessionsModel,
  PROVIDER_KEYS,
} from './sessions-model.js';
import type { SessionsWorld } from './sessions-world.js';

export const TASKS: readonly ModelTask['kind'][] = ['office', 'office', 'kanban'];
export const AGENTS = 3;

type Step = (model: SessionsModel, world: SessionsWorld) => Promise<void>;

/** Something that is done to the model and to the world, which are compared after it. */
class Command implements fc.AsyncCommand<SessionsModel, SessionsWorld> {
  constructor(
    private readonly words: string,
    private readonly step: Step,
    private readonly needsRow = false,
  ) {}

  check(model: Readonly<SessionsModel>): boolean {
    return !this.needsRow || model.rows.length > 0;
  }

  async run(model: SessionsModel, world: SessionsWorld): Promise<void> {
    await this.step(model, world);
    await world.expectEqual(model);
  }

  toString(): string {
    return this.words;
  }
}

/** The first task and the first agent more often than not, so that commands meet. */
const mostlyFirst = (count: number) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(count - 1) });
const tasks = mostlyFirst(TASKS.length);
const agents = mostlyFirst(AGENTS);
const agentsOrNone = fc.option(agents, { freq: 4 });
const profiles = fc.constantFrom('p1', 'p1', 'p2', 'own-0');
const executors = fc.constantFrom(null, null, 'e1', 'e2');
const roles = fc.constantFrom<ParticipantRole[]>('reviewer', 'approver', 'watcher');
const requests: fc.Arbitrary<ModelRequest> = fc.record({
  task: tasks,
  agent: agents,
  profile: profiles,
  executor: executors,
});

const ensures = requests.map(
  (request) =>
    new Command(`ensure(${JSON.stringify(request)})`, async (model, world) => {
      const expected = model.ensure(request, world.now);
      same(world, expected, await outcomeOf(world.sessions.ensure(wanted(world, request))));
    }),
);

/** All at once and all for the same: as if one came after the other. */
const crowds = fc.tuple(requests, fc.integer({ min: 2, max: 4 })).map(
  ([request, count]) =>
    new Command(`${count} × ensure(${JSON.stringify(request)})`, async (model, world) => {
      const calls = Array.from({ length: count }, () => world.sessions.ensure(wanted(world, request)));
      const answers = (await Promise.all(calls.map(outcomeOf))).sort(
        (one, other) => wasCreated(other) - wasCreated(one),
      );
      for (const answer of answers) {
        const expected = model.ensure(request, world.now);
        if (typeof answer !== 'string' && 'row' in expected && expected.created)
          expected.row.id = answer.session.id;
        expect(shortly(answer)).toEqual(shortly(inWorld(world, expected)));
      }
    }),
);

const nowheres = fc
  .constantFrom('taskId' as const, 'agentProfileId' as const, 'executionProfileId' as const)
  .map(
    (missing) =>
      new Command(`ensure(no ${missing})`, async (_model, world) => {
        const complete = wanted(world, { task: 0, agent: 0, profile: 'p1', executor: null });
        expect(await outcomeOf(world.sessions.ensure({ ...complete, [missing]: '' }))).toBe(
          'validation_failed',
        );
        const stray = { ...complete, taskId: 'no-such-task' };
        expect(await outcomeOf(world.sessions.ensure(stray))).toBe('not_found');
      }),
  );

const launches = fc.record({ task: tasks, agent: agentsOrNone, profile: profiles, executor: executors }).map(
  (request) =>
    new Command(`launch(${JSON.stringify(request)})`, async (model, world) => {
      const expected = model.launch(request, world.now);
      const { task, agent, profile, executor } = request;
      const launch = { taskId: world.task(task), executionProfileId: profile, executorId: executor };
      const agentProfileId = world.agentOrNull(agent);
      made(world, expected, await outcomeOf(world.sessions.launch({ ...launch, agentProfileId })));
    }),
);

/** A command about some session that there is. */
const aboutARow = (
  words: string,
  step: (row: ModelRow, model: SessionsModel, world: SessionsWorld) => Promise<void>,
) =>
  fc.nat(30).map(
    (place) =>
      new Command(
        `${words} of row ${place}`,
        (model, world) => {
          const row = model.rows[place % model.rows.length];
          if (row === undefined) throw new Error('There is no row.');
          return step(row, model, world);
        },
        true,
      ),
  );

const replacements = aboutARow('replace', async (row, model, world) => {
  const expected = model.replace(row, world.now);
  made(world, expected, await outcomeOf(world.sessions.replace(row.id)));
});

const spawns = agentsOrNone.chain((named) =>
  aboutARow(`spawn(${String(named)})`, async (row, model, world) => {
    const expected = model.spawn(row, named, world.now);
    same(world, expected, await outcomeOf(world.sessions.spawn(row.id, world.agentOrNull(named))));
  }),
);

const flips = fc.constantFrom<SessionState[]>(...SESSION_STATES, 'IDLE', 'RUNNING').chain((state) =>
  aboutARow(`flip(${state})`, async (row, model, world) => {
    const error = model.flip(row, state, world.now);
    const answer = await outcomeOf(world.sessions.setState(row.id, state));
    expect(answer).toEqual(error ?? world.shown(row));
  }),
);

const turns = fc.option(fc.constantFrom('acp-1', 'acp-2'), { nil: undefined, freq: 2 }).chain((acp) =>
  aboutARow(`turn(${String(acp)})`, async (row, model, world) => {
    const isBegun = model.beginTurn(row, world.now);
    const begun = await world.turns.begin(await world.sessions.get(row.id));
    expect(begun).toEqual(isBegun ? world.shown(row) : null);
    model.endTurn(row, acp, world.now);
    const legacy = { acpSessionId: acp, executionProfileId: row.profile };
    await world.turns.end(world.task(row.task), row.id, legacy);
  }),
);

const retirements = fc.tuple(tasks, agents).map(
  ([task, agent]) =>
    new Command(`retire(${task}, ${agent})`, async (model, world) => {
      model.retire(task, agent, world.now);
      await world.sessions.retire({ taskId: world.task(task), agentProfileId: world.agent(agent) });
    }),
);

const assignments = fc.tuple(tasks, agentsOrNone).map(
  ([task, agent]) =>
    new Command(`assign(${task}, ${String(agent)})`, async (model, world) => {
      const expected = model.assign(task, agent, world.now);
      const answer = await outcomeOf(world.mutations.assign(world.task(task), world.agentOrNull(agent)));
      expect(typeof answer === 'string' ? answer : answer.interruptedSessionId).toEqual(
        typeof expected === 'string' ? expected : (expected.interrupted?.id ?? null),
      );
    }),
);

const seatings = fc.tuple(tasks, agents, roles).map(
  ([task, agent, role]) =>
    new Command(`seat(${task}, ${agent}, ${role})`, async (model, world) => {
      const error = model.addSeat(task, agent, role);
      const answer = await outcomeOf(world.participants.add(world.task(task), world.agent(agent), role));
      expect(typeof answer === 'string' ? answer : null).toBe(error);
    }),
);

const unseatings = fc.tuple(tasks, agents, fc.option(roles)).map(
  ([task, agent, role]) =>
    new Command(`unseat(${task}, ${agent}, ${String(role)})`, async (model, world) => {
      model.removeSeat(task, agent, role, world.now);
      await world.participants.remove(world.task(task), world.agent(agent), role);
    }),
);

const deletions = agents.map(
  (agent) =>
    new Command(`delete(agent ${agent})`, async (model, world) => {
      const error = model.deleteAgent(agent, world.now);
      expect((await outcomeOf(world.removal.remove(world.agent(agent)))) ?? null).toBe(error);
    }),
);

/** Rows from before, live and over, older and newer than ours, with ids before and after ours in the alphabet. */
const legacies = fc
  .record({
    task: tasks,
    agent: agentsOrNone,
    profile: profiles,
    state: fc.constantFrom(...SESSION_STATES, 'IDLE', 'COMPLETED', 'A_STATE_OF_TOMORROW'),
    age: fc.constantFrom(-1000, 0, 0, 1000),
    lead: fc.constantFrom('00', 'Z', 'zz', '_'),
    keys: fc.subarray([...PROVIDER_KEYS, 'pending_step', 'origin']),
  })
  .map(
    ({ age, lead, keys, ...rest }) =>
      new Command(`legacy(${JSON.stringify({ ...rest, age, lead })})`, async (model, world) => {
        const startedAt = world.now - age;
        const metadata = Object.fromEntries(keys.map((key) => [key, `an old ${key}`]));
        const id = world.legacyId(lead, model.rows.length);
        const row: ModelRow = {
          ...rest,
          ...{ id, metadata, startedAt, updatedAt: startedAt, completedAt: null, executor: null },
        };
        model.rows.push(row);
        await world.insert(row);
      }),
  );

const advances = fc.constantFrom(1, 1000, 60_000).map(
  (milliseconds) =>
    new Command(`advance(${milliseconds})`, (_model, world) => {
      world.advance(milliseconds);
      return Promise.resolve();
    }),
);

export const sessionCommands: fc.Arbitrary<fc.AsyncCommand<SessionsModel, SessionsWorld>>[] = [
  ...[ensures, ensures, ensures, crowds, crowds, flips, flips, turns, legacies, legacies, assignments],
  ...[launches, replacements, spawns, retirements, seatings, unseatings, deletions, advances, nowheres],
];

function wanted(world: SessionsWorld, { task, agent, profile, executor }: ModelRequest) {
  return {
    taskId: world.task(task),
    agentProfileId: world.agent(agent),
    executionProfileId: profile,
    executorId: executor,
  };
}

/** The answer, or the code of the error. */
async function outcomeOf<T>(answer: Promise<T>): Promise<T | string> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ReveilleError) return error.code;
    throw error;
  }
}

/** Compares the answers, after the model has been told what the world calls a row that is new. */
function same(world: SessionsWorld, expected: Expected, answer: EnsuredSession | string): void {
  if (typeof answer !== 'string' && 'row' in expected && expected.created)
    expected.row.id = answer.session.id;
  expect(answer).toEqual(inWorld(world, expected));
}

/** The same for a session that is new or not to be had. */
function made(world: SessionsWorld, expected: Expected, answer: Session | string): void {
  same(world, expected, typeof answer === 'string' ? answer : { session: answer, created: true });
}

function wasCreated(answer: EnsuredSession | string): number {
  return Number(typeof answer !== 'string' && answer.created);
}

function inWorld(world: SessionsWorld, expected: Expected): EnsuredSession | string {
  if ('error' in expected) return expected.error;
  return { session: world.shown(expected.row), created: expected.created };
}

/** Of callers at once only this much is promised to each: what another does to the row meanwhile it may see or not. */
function shortly(answer: EnsuredSession | string) {
  if (typeof answer === 'string') return answer;
  const { id, executionProfileId } = answer.session;
  return { id, executionProfileId, created: answer.created };
}
