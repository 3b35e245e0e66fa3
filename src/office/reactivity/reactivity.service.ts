import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../clock/clock.js';
import { Dialect } from '../../database/dialect.js';
import { Transactions } from '../../database/transactions.js';
import { knownErrorIn } from '../../errors/known-error.js';
import type { ErrorCode } from '../../errors/reveille-error.js';
import type { Decision } from '../../scheduler/decision.js';
import { SchedulerService } from '../../scheduler/scheduler.service.js';
import type { Task } from '../../tasks/task.schema.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { Cascades } from './cascades.js';
import type { CascadeNote, Note, WakeNote } from './note.schema.js';
import { NoteBook } from './note-book.js';
import { NotesRepository } from './notes.repository.js';
import type { Reaction } from './reaction.js';

/** Carries out what mutations owe: every wake that is noted is decided, once. */
@Injectable()
export class Reactivity {
  private readonly logger = new Logger(Reactivity.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly notes: NotesRepository,
    private readonly book: NoteBook,
    private readonly cascades: Cascades,
    private readonly scheduler: SchedulerService,
    private readonly clock: Clock,
  ) {}

  /**
   * Decides the noted wakes, which the caller must be driving. One that fails neither stops the rest nor is lost, and
   * each is told of, whatever became of it.
   */
  async carryOut(notes: readonly Note[]): Promise<readonly Reaction[]> {
    const reactions: Reaction[] = [];
    for (const note of notes) {
      if (note.agentProfileId !== null) reactions.push(await this.react(note));
      else reactions.push(...(await this.carryOut(await this.spread(note))));
    }
    return reactions;
  }

  /** Owes one wake and decides it at once, all in the open transaction when there is one. */
  async wake(task: Task, wake: ProducedWake): Promise<Reaction> {
    return this.react(await this.transactions.run(() => this.book.writeOne(task, wake)));
  }

  /** One transaction replaces a cascade by the wakes that it has found, so that a crash leaves the one or the others. */
  private async spread(note: CascadeNote): Promise<readonly WakeNote[]> {
    // Inside a caller's transaction the tasks that finish beside this one are not to be seen yet: the sweep comes after.
    if (this.transactions.inside) {
      await this.notes.leave(note.id, this.clock.now());
      return [];
    }
    try {
      return await this.transactions.run(async () => {
        if (!(await this.notes.strike(note.id))) return [];
        const found: WakeNote[] = [];
        for (const { task, wake } of await this.cascades.wakesOf(note))
          found.push(await this.book.writeOne(task, wake));
        return found;
      });
    } catch (error) {
      const { taskId: task_id, reason } = note;
      this.logger.error(
        { task_id, reason, error: String(error) },
        'whom a finished task wakes could not be found out and will be tried again',
      );
      await this.leave(note);
      return [];
    }
  }

  private async react(note: WakeNote): Promise<Reaction> {
    const { reason, agentProfileId } = note;
    try {
      const decision = await this.decide(note);
      if (decision === null) return { reason, agentProfileId, ...UNDECIDED, error: null };
      const { outcome, runId, allowance } = decision;
      return { reason, agentProfileId, outcome, runId, allowance, error: null };
    } catch (error) {
      await this.scheduler.keepUndecided(note, error);
      await this.leave(note);
      return { reason, agentProfileId, ...UNDECIDED, error: this.codeOf(error) };
    }
  }

  /** One transaction decides the wake and strikes its note, so that a crash leaves both undone. */
  private decide({
    id,
    agentProfileId,
    reason,
    payload,
    idempotencyKey,
  }: WakeNote): Promise<Decision | null> {
    const wake = { agentProfileId, reason, payload, idempotencyKey };
    return this.transactions.undivided(async () =>
      (await this.notes.strike(id)) ? this.scheduler.queueRun(wake) : null,
    );
  }

  /** What could not be decided is due again, or as soon as the pause that parks it has passed. If this fails too, the lease ends. */
  private async leave({ id }: Note): Promise<void> {
    try {
      await this.transactions.undivided(() => this.notes.leave(id, this.clock.now()));
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'an owed wake is due only when its lease ends');
    }
  }

  private codeOf(error: unknown): ErrorCode {
    const known = knownErrorIn(error);
    if (known !== undefined) return known.code;
    this.logger.error({ error: String(error) }, 'a wake could not be decided and will be tried again');
    if (this.dialect.isLockTimeout(error)) return 'overloaded';
    return this.dialect.isUnavailable(error) ? 'database_unavailable' : 'internal';
  }
}

const UNDECIDED = { outcome: 'none', runId: null, allowance: null } as const;
