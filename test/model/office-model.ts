import type { ParticipantRole } from '../../src/tasks/task.schema.js';
import type { TaskState } from '../../src/tasks/task.schema.js';
import { AdmissionModel, type Expected, type ModelRun } from './admission-model.js';
import { type ModelActor, type ModelTask, type Owed, OfficeRules, isClosed } from './office-rules.js';
import { OfficeRecoveries } from './office-recoveries.js';
import { OfficeRuns } from './office-runs.js';
import { OfficeTasks, TO_THE_ASSIGNEE } from './office-tasks.js';

const NOTE_LEASE_MS = 30_000;

/** A wake that is owed and not decided yet. */
export interface ModelNote extends Owed {
  readonly taskId: string;
  readonly generation: number;
  readonly createdAt: number;
  dueAt: number;
}

export interface ModelMutation {
  readonly task: string;
  readonly actor: ModelActor;
  /** Left out: stays. */
  readonly assignee?: number | null | undefined;
  readonly state?: TaskState | undefined;
  readonly comment?: { readonly id: string; readonly mentions: readonly number[] } | undefined;
}

export type ModelReaction = Expected & { readonly agent: number; readonly reason: string };

/** What a change answers: the code of the error that left everything as it was, or what it set in motion. */
export type Answer = string | readonly ModelReaction[];

/** An office as the specification tells it: tasks and what changing them owes, over the model of admission. */
export class OfficeModel {
  readonly admission: AdmissionModel;
  readonly runs: OfficeRuns;
  readonly tasks = new OfficeTasks();
  notes: ModelNote[] = [];
  private readonly rules: OfficeRules;
  readonly deleted = new Set<number>();
  private readonly recoveries = new OfficeRecoveries();

  constructor(
    workspaceId: string,
    readonly agents: readonly string[],
    private readonly mayAssign: readonly boolean[],
  ) {
    this.admission = new AdmissionModel(agents.length);
    this.runs = new OfficeRuns(this.admission);
    this.rules = new OfficeRules(workspaceId, agents);
  }

  create(given: Pick<ModelTask, 'id' | 'kind' | 'parentId' | 'assignee' | 'state'>, now: number): Answer {
    const { assignee } = given;
    if (assignee !== null && this.deleted.has(assignee)) return 'not_found';
    const generation = assignee === null ? 0 : 1;
    const task = { ...given, generation, createdAt: now, updatedAt: now, participants: [], blockers: [] };
    this.tasks.all.push(task);
    if (assignee === null || given.kind !== 'office') return [];
    const key = this.rules.assignmentKey(task, assignee);
    return this.carryOut(
      this.write(
        task,
        [{ agent: assignee, reason: 'task_assigned', payload: { task_id: task.id }, key }],
        now,
      ),
      now,
    );
  }

  mutate(mutation: ModelMutation, now: number): Answer {
    const refusal = this.refusalOf(mutation);
    if (refusal !== null) return refusal;
    const { actor, assignee, state, comment = null } = mutation;
    const task = this.tasks.get(mutation.task);
    const before = { ...task };
    const isAssignment = assignee !== undefined;
    if (isAssignment || state !== undefined) task.updatedAt = now;
    task.state = state ?? task.state;
    if (isAssignment) this.assign(task, assignee);
    this.handOver(before, task);
    const owed = this.rules.owedBy({ before, after: task, isAssignment, comment, actor });
    return this.carryOut(this.write(task, owed, now), now);
  }

  /** Its tasks are nobody's, which is an assignment of each; what it was owed, held and was is void. */
  deleteAgent(agent: number, now: number): void {
    this.deleted.add(agent);
    this.admission.runnable[agent] = false;
    for (const task of this.tasks.all) {
      task.participants = task.participants.filter((held) => held.agent !== agent);
      if (task.assignee !== agent) continue;
      this.assign(task, null);
      task.updatedAt = now;
    }
    this.notes = this.notes.filter((note) => note.agent !== agent);
    this.runs.withdrawAll(agent);
  }

  /** An agent that loses its seat by it is interrupted. */
  clearRole(id: string, agent: number, role: ParticipantRole | null): void {
    const wasSeated = this.tasks.isSeated(id, agent);
    this.tasks.clearRole(id, agent, role);
    if (wasSeated && !this.tasks.isSeated(id, agent)) this.runs.interrupt(agent, id);
  }

  /** The first claim of a task's run means that work on it has begun. */
  claim(now: number): readonly ModelRun[] {
    const claimed = this.runs.claim(now, (run) => this.tasks.staleness(run));
    for (const { taskId } of claimed) {
      const task = this.tasks.find(taskId);
      if (task?.state === 'TODO') Object.assign(task, { state: 'IN_PROGRESS', updatedAt: now });
    }
    return claimed;
  }

  fail(run: ModelRun, isFinal: boolean, now: number): boolean {
    return this.runs.fail(run, isFinal, { now, staleness: (failed) => this.tasks.staleness(failed) });
  }

  /** Takes up what is due and held back by nothing; what has been overtaken is owed no more. */
  takeUpNotes(now: number): void {
    for (const note of this.notes.filter((one) => this.isDue(one, now))) {
      note.dueAt = now + NOTE_LEASE_MS;
      if (this.isOvertaken(note)) this.strike(note);
      else this.carryOut([note], now);
    }
  }

  /** Starts what was assigned and then forgotten, without a key: the assignment's own may have been used. */
  recover(now: number): void {
    for (const task of this.recoveries.due(this, now)) {
      const agent = task.assignee ?? -1;
      this.admission.count('keyless task_assigned by_design');
      const payload = this.read({ task_id: task.id });
      this.admission.wake({ agent, reason: 'task_assigned', key: null, payload }, now);
    }
  }

  isHeldBack(agent: number | null): boolean {
    return this.admission.paused || (agent !== null && this.admission.runnable[agent] !== true);
  }

  /** Whoever may not assign is told so before anything that is wrong with the mutation. */
  private refusalOf({ actor, assignee, comment }: ModelMutation): string | null {
    const mayAssign = actor.type === 'user' || this.mayAssign[this.agents.indexOf(actor.id)] === true;
    if (assignee !== undefined && !mayAssign) return 'forbidden';
    const named = [assignee ?? [], comment?.mentions ?? []].flat();
    return named.some((agent) => this.deleted.has(agent)) ? 'not_found' : null;
  }

  private assign(task: ModelTask, assignee: number | null): void {
    task.assignee = assignee;
    task.generation++;
  }

  /** Whoever had the task is interrupted when it is taken away, everybody when it is cancelled, nobody by being given it again. */
  private handOver(before: ModelTask, after: ModelTask): void {
    if (before.state !== 'CANCELLED' && after.state === 'CANCELLED') this.runs.interrupt(null, after.id);
    if (!isClosed(before) && isClosed(after))
      this.runs.dropStaleRetries(after.id, (run) => this.tasks.staleness(run));
    if (before.assignee === null || before.assignee === after.assignee) return;
    this.runs.interrupt(before.assignee, after.id);
    this.runs.dropRetriesOf(before.assignee, after.id);
  }

  private write(task: ModelTask, owed: readonly Owed[], now: number): readonly ModelNote[] {
    const notes = owed.map((one) => {
      if (one.agent !== null && one.key === null) this.admission.count(`keyless ${one.reason} by_design`);
      const dueAt = now + NOTE_LEASE_MS;
      return { ...one, taskId: task.id, generation: task.generation, createdAt: now, dueAt };
    });
    this.notes.push(...notes);
    return notes;
  }

  /** Each in its turn; a cascade gives way to what it finds. */
  private carryOut(notes: readonly ModelNote[], now: number): readonly ModelReaction[] {
    return notes.flatMap((note) => {
      if (note.agent !== null) return [this.react(note, note.agent, now)];
      this.strike(note);
      return this.carryOut(
        this.found(note).flatMap(({ task, owed }) => this.write(task, [owed], now)),
        now,
      );
    });
  }

  private react(note: ModelNote, agent: number, now: number): ModelReaction {
    const { reason, payload, key } = note;
    const wake = { agent, reason, key, payload: this.read(payload) };
    const expected = this.admission.wake(wake, now);
    if (expected.error === null) this.strike(note);
    else note.dueAt = now;
    return { ...expected, agent, reason };
  }

  private read(payload: Owed['payload']) {
    const { task_id: taskId = '', actor_type: actorType = null, actor_id: actorId = null } = payload;
    return { text: JSON.stringify(payload), taskId, actorType, actorId };
  }

  private strike(note: ModelNote): void {
    this.notes = this.notes.filter((one) => one !== note);
  }

  /** Those who waited for the task and wait for nothing else; or whoever it was the last open part of the work of. */
  private found({ reason, taskId, payload }: ModelNote): readonly { task: ModelTask; owed: Owed }[] {
    const actor = {
      type: payload['actor_type'] === 'agent' ? 'agent' : 'user',
      id: payload['actor_id'] ?? '',
    } as const;
    if (reason === 'task_blockers_resolved')
      return this.tasks
        .freedBy(taskId)
        .flatMap((task) => this.unlessIdle(task, (agent) => this.rules.resolved(task, agent, taskId, actor)));
    const parent = this.tasks.find(this.tasks.find(taskId)?.parentId ?? null);
    const children = this.tasks.all.filter(({ parentId }) => parentId === parent?.id);
    if (parent === undefined || !children.every(isClosed)) return [];
    const ids = children.map(({ id }) => id);
    return this.unlessIdle(parent, (agent) =>
      this.rules.completed(parent, agent, ids, { last: taskId, actor }),
    );
  }

  private unlessIdle(task: ModelTask, owed: (agent: number) => Owed) {
    return task.assignee === null || isClosed(task) ? [] : [{ task, owed: owed(task.assignee) }];
  }

  private isDue({ dueAt, agent }: ModelNote, now: number): boolean {
    return dueAt <= now && !this.isHeldBack(agent);
  }

  private isOvertaken({ agent, reason, taskId, generation }: ModelNote): boolean {
    if (agent === null) return false;
    if (this.tasks.staleness({ agent, reason, taskId }) !== null) return true;
    return TO_THE_ASSIGNEE.includes(reason) && this.tasks.find(taskId)?.generation !== generation;
  }
}
