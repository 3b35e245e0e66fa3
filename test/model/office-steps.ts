import { ReveilleError } from '../../src/errors/reveille-error.js';
import { AgentRemoval } from '../../src/office/agent-removal.service.js';
import { BlockersService } from '../../src/office/blockers.service.js';
import { ParticipantsService } from '../../src/office/participants.service.js';
import type { MutationInput } from '../../src/office/task-mutations.js';
import { TasksService } from '../../src/office/tasks.service.js';
import type { ParticipantRole, TaskKind, TaskState } from '../../src/tasks/task.schema.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import type { OfficeModel } from './office-model.js';
import type { OfficeWorld } from './office-world.js';

/** What can be done to an office: each step is done to the model and to the world, which then must be equal. */

/** A change of a task; an actor that is null, or gone, is a person. Tasks are counted in the order of their making. */
export interface Change {
  readonly task: number;
  readonly actor: number | null;
  readonly assignee?: number | null | undefined;
  readonly state?: TaskState | undefined;
  readonly mentions?: readonly number[] | undefined;
}

export async function mutate(change: Change, model: OfficeModel, world: OfficeWorld): Promise<void> {
  const { assignee, state, mentions } = change;
  const task = taskOf(change.task, model);
  const actor = actorOf(change.actor, model, world);
  const tasks = world.reveille.get(TasksService);
  const actual = await tasks.update(task, inputOf(change, world), actor).catch(codeOf);
  // A comment's id is the one thing of the answer that nobody can foretell.
  const id = typeof actual === 'string' ? '' : (actual.comment?.id ?? '');
  const comment = mentions && { id, mentions };
  const expected = model.mutate({ task, actor, assignee, state, comment }, world.now);
  await world.expectEqual(model, expected, typeof actual === 'string' ? actual : actual.reactions);
}

function inputOf({ assignee, state, mentions }: Change, world: OfficeWorld): MutationInput {
  const named = mentions?.map((agent) => world.agent(agent));
  return {
    state,
    assigneeAgentProfileId: typeof assignee === 'number' ? world.agent(assignee) : assignee,
    comment: named && { body: 'A comment.', mentions: named },
  };
}

export interface Creation {
  readonly kind: TaskKind;
  readonly parent: number | null;
  readonly assignee: number | null;
  readonly state: TaskState;
}

export async function create(given: Creation, model: OfficeModel, world: OfficeWorld): Promise<void> {
  const { expected, actual } = await createBoth(given, model, world);
  await world.expectEqual(model, expected, typeof actual === 'string' ? actual : actual.reactions);
}

async function createBoth({ parent, assignee, ...given }: Creation, model: OfficeModel, world: OfficeWorld) {
  const id = world.task(model.tasks.all.length);
  const parentId = parent === null ? null : taskOf(parent, model);
  const assigneeAgentProfileId = assignee === null ? null : world.agent(assignee);
  const { workspaceId, now } = world;
  const task = { ...given, id, workspaceId, title: 'A task', parentId, assigneeAgentProfileId };
  const actual = await world.reveille.get(TasksService).create(task).catch(codeOf);
  return { actual, expected: model.create({ ...given, id, parentId, assignee }, now) };
}

/**
 * A parent with a part that another task waits for, each with an assignee: what is done to one is felt by the others.
 * Compared by whoever asks for it, once all of it stands.
 */
export async function furnish(model: OfficeModel, world: OfficeWorld): Promise<void> {
  await createBoth({ kind: 'office', parent: null, assignee: 0, state: 'TODO' }, model, world);
  await createBoth({ kind: 'office', parent: 0, assignee: 1, state: 'TODO' }, model, world);
  await createBoth({ kind: 'kanban', parent: null, assignee: 0, state: 'BLOCKED' }, model, world);
  await world.reveille.get(BlockersService).add(world.task(2), world.task(1));
  model.tasks.block(world.task(2), world.task(1));
}

export async function setRole(
  { task, agent, role }: { task: number; agent: number; role: ParticipantRole },
  model: OfficeModel,
  world: OfficeWorld,
): Promise<void> {
  const id = taskOf(task, model);
  const actual = await world.reveille
    .get(ParticipantsService)
    .add(id, world.agent(agent), role)
    .then(() => [], codeOf);
  const isKnown = !model.deleted.has(agent);
  if (isKnown) model.tasks.setRole(id, agent, role);
  await world.expectEqual(model, isKnown ? [] : 'not_found', actual);
}

export async function clearRole(
  { task, agent, role }: { task: number; agent: number; role: ParticipantRole | null },
  model: OfficeModel,
  world: OfficeWorld,
): Promise<void> {
  const id = taskOf(task, model);
  await world.reveille.get(ParticipantsService).remove(id, world.agent(agent), role);
  model.clearRole(id, agent, role);
  await world.expectEqual(model);
}

export async function block(
  { task, by }: { task: number; by: number },
  model: OfficeModel,
  world: OfficeWorld,
): Promise<void> {
  const [id, blocker] = [taskOf(task, model), taskOf(by, model)];
  const actual = await world.reveille
    .get(BlockersService)
    .add(id, blocker)
    .then(() => [], codeOf);
  await world.expectEqual(model, model.tasks.block(id, blocker) ? [] : 'blocker_cycle', actual);
}

export async function unblock(
  { task, by }: { task: number; by: number },
  model: OfficeModel,
  world: OfficeWorld,
): Promise<void> {
  const [id, blocker] = [taskOf(task, model), taskOf(by, model)];
  await world.reveille.get(BlockersService).remove(id, blocker);
  model.tasks.unblock(id, blocker);
  await world.expectEqual(model);
}

export async function claim(model: OfficeModel, world: OfficeWorld): Promise<void> {
  const expected = model.claim(world.now);
  const actual = await world.claim();
  await world.expectEqual(model);
  expect([...actual].sort()).toEqual(expected.map(({ number }) => world.runId(number)).sort());
}

/** The turn of one of the agents that are at work ends. */
export async function end(
  place: number,
  how: 'finished' | 'failed' | 'failed for good',
  { model, world }: { model: OfficeModel; world: OfficeWorld },
): Promise<void> {
  const working = workingIn(model);
  const agent = working[place % working.length];
  const run = agent === undefined ? undefined : model.runs.heldBy(agent);
  if (agent === undefined || run === undefined) throw new Error('Nobody is at work.');
  const isFinal = how === 'failed for good';
  const report = how === 'finished' ? world.finish(agent) : world.fail(agent, isFinal);
  const actual = await report.then(() => [], codeOf);
  const isTaken = how === 'finished' ? model.runs.finish(run) : model.fail(run, isFinal, world.now);
  await world.expectEqual(model, isTaken ? [] : 'claim_lost', actual);
}

/** Whoever is at work has failed so often already that the next failure is the last. */
export async function spendRetries(model: OfficeModel, world: OfficeWorld): Promise<void> {
  await world.spendRetries();
  model.runs.spendRetries();
  await world.expectEqual(model);
}

export async function cancel(place: number, model: OfficeModel, world: OfficeWorld): Promise<void> {
  const { runs } = model.admission;
  const run = runs[place % runs.length];
  if (run === undefined) throw new Error('There is no run.');
  const actual = await world.cancel(run.number).then(() => [], codeOf);
  const isUnended = run.status === 'queued' || run.status === 'claimed';
  if (isUnended) model.runs.cancel(run, 'a reason', true);
  await world.expectEqual(model, isUnended ? [] : 'illegal_transition', actual);
}

export async function deleteAgent(agent: number, model: OfficeModel, world: OfficeWorld): Promise<void> {
  await world.reveille.get(AgentRemoval).remove(world.agent(agent));
  model.deleteAgent(agent, world.now);
  await world.expectEqual(model);
}

export async function sweep(model: OfficeModel, world: OfficeWorld): Promise<void> {
  await world.reveille.get(Sweeps).sweep();
  model.runs.takeBack(world.now);
  model.takeUpNotes(world.now);
  model.recover(world.now);
  model.admission.forgetOld(world.now);
  await world.expectEqual(model);
}

export async function switchWorkspace(model: OfficeModel, world: OfficeWorld): Promise<void> {
  model.admission.paused = !model.admission.paused;
  if (model.admission.paused) model.runs.pause(world.now);
  else model.runs.resume(world.now);
  await world.setPaused(model.admission.paused);
  await world.expectEqual(model);
}

export async function switchAgent(agent: number, model: OfficeModel, world: OfficeWorld): Promise<void> {
  const isRunnable = model.admission.runnable[agent] !== true;
  model.admission.runnable[agent] = isRunnable;
  await world.setRunnable(agent, isRunnable);
  await world.expectEqual(model);
}

/** The agents whose turn has not ended, also where the run has. */
export function workingIn(model: Readonly<OfficeModel>): readonly number[] {
  return [...model.agents.keys()].filter((agent) => model.runs.heldBy(agent) !== undefined);
}

/** Counted round, so that every number names a task. */
function taskOf(number: number, model: OfficeModel): string {
  const { all } = model.tasks;
  const task = all[number % all.length];
  if (task === undefined) throw new Error('There is no task.');
  return task.id;
}

function actorOf(actor: number | null, model: OfficeModel, world: OfficeWorld) {
  return actor === null || model.deleted.has(actor)
    ? ({ type: 'user', id: 'a-person' } as const)
    : ({ type: 'agent', id: world.agent(actor) } as const);
}

function codeOf(error: unknown): string {
  if (error instanceof ReveilleError) return error.code;
  throw error;
}
