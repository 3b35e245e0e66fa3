import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../clock/clock.js';
import { Dialect } from '../../database/dialect.js';
import { Transactions } from '../../database/transactions.js';
import { knownErrorIn } from '../../errors/known-error.js';
import type { ErrorCode } from '../../errors/reveille-error.js';
import { Ids } from '../../random/ids.js';
import type { Decision } from '../../scheduler/decision.js';
import { SchedulerService } from '../../scheduler/scheduler.service.js';
import type { Task } from '../../tasks/task.schema.js';
import { TasksRepository } from '../../tasks/tasks.repository.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import type { Note } from './note.schema.js';
import { NotesRepository } from './notes.repository.js';
import type { Reaction } from './reaction.js';

/** How old a note must be to be taken for one whose author has died, in milliseconds. */
const ABANDONED_MS = 30_000;

/** How many notes one statement of the sweep reads. */
const PAGE = 100;

/** Sees to it that every wake that a mutation owes is decided, once. */
@Injectable()
export class Reactivity {
  private readonly logger = new Logger(Reactivity.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly notes: NotesRepository,
    private readonly tasks: TasksRepository,
    private readonly scheduler: SchedulerService,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** Writes down what a mutation owes, in its own transaction. */
  async note(task: Task, wakes: readonly ProducedWake[]): Promise<readonly Note[]> {
    const notes = wakes.map((wake) => this.noteOf(task, wake));
    for (const note of notes) await this.notes.insert(note);
    return notes;
  }

  /** Decides the noted wakes after the mutation has committed. One that fails neither stops the rest nor is lost. */
  async carryOut(notes: readonly Note[]): Promise<readonly Reaction[]> {
    const reactions: Reaction[] = [];
    for (const note of notes) reactions.push(await this.react(note));
    return reactions;
  }

  /** Takes up the notes whose authors did not get to carry them out, and those that could not be decided then. */
  async sweep(): Promise<void> {
    const before = this.clock.now() - ABANDONED_MS;
    let after: string | null = null;
    for (;;) {
      const page: Note[] = await this.notes.before(before, after, PAGE);
      for (const note of page) await this.takeUp(note);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  /** An assignment that has been overtaken meanwhile wakes nobody. */
  private async takeUp(note: Note): Promise<void> {
    const task = await this.tasks.find(note.taskId);
    const holds =
      task?.assigneeAgentProfileId === note.agentProfileId &&
      task.assignmentGeneration === note.assignmentGeneration;
    if (holds) await this.react(note);
    else await this.transactions.run(() => this.notes.strike(note.id));
  }

  private noteOf(task: Task, wake: ProducedWake): Note {
    return {
      id: this.ids.next(),
      workspaceId: task.workspaceId,
      taskId: task.id,
      assignmentGeneration: task.assignmentGeneration,
      agentProfileId: wake.agentProfileId,
      reason: wake.reason,
      payload: JSON.stringify(wake.payload),
      idempotencyKey: wake.idempotencyKey,
      createdAt: this.clock.now(),
    };
  }

  private async react(note: Note): Promise<Reaction> {
    const { reason, agentProfileId } = note;
    try {
      const decision = await this.decide(note);
      if (decision === null) return { reason, agentProfileId, ...UNDECIDED, error: null };
      const { outcome, runId, allowance } = decision;
      return { reason, agentProfileId, outcome, runId, allowance, error: null };
    } catch (error) {
      await this.scheduler.keepUndecided(note, error);
      return { reason, agentProfileId, ...UNDECIDED, error: this.codeOf(error) };
    }
  }

  /** One transaction decides the wake and strikes its note, so that a crash leaves both undone. */
  private decide({ id, ...wake }: Note): Promise<Decision | null> {
    return this.transactions.run(async () =>
      (await this.notes.strike(id)) ? this.scheduler.queueRun(wake) : null,
    );
  }

  private codeOf(error: unknown): ErrorCode {
    const known = knownErrorIn(error);
    if (known !== undefined) return known.code;
    this.logger.error({ error: String(error) }, 'a wake could not be decided and will be tried again');
    return this.dialect.isUnavailable(error) ? 'database_unavailable' : 'internal';
  }
}

const UNDECIDED = { outcome: 'none', runId: null, allowance: null } as const;
