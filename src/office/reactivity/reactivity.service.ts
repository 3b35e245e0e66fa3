import { Injectable, Logger } from '@nestjs/common';
import { AgentNotRunnableError } from '../../agents/agent.errors.js';
import { Clock } from '../../clock/clock.js';
import { Dialect } from '../../database/dialect.js';
import { Transactions } from '../../database/transactions.js';
import { knownErrorIn } from '../../errors/known-error.js';
import type { ErrorCode } from '../../errors/reveille-error.js';
import type { Decision } from '../../scheduler/decision.js';
import { SchedulerService } from '../../scheduler/scheduler.service.js';
import type { Task } from '../../tasks/task.schema.js';
import { WorkspacePausedError } from '../../workspaces/workspace.errors.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { Cascades } from './cascades.js';
import type { Note, WakeNote } from './note.schema.js';
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
      if (saysWhom(note)) reactions.push(await this.react(note));
      else reactions.push(...(await this.carryOut(await this.spread(note))));
    }
    return reactions;
  }

  /** Owes one wake and decides it at once, all in the open transaction when there is one. */
  async wake(task: Task, wake: ProducedWake): Promise<Reaction> {
    return this.react(await this.transactions.run(() => this.book.writeOne(task, wake)));
  }

  /** One transaction replaces a cascade by the wakes that it has found, so that a crash leaves the one or the others. */
  private async spread(note: Note): Promise<readonly Note[]> {
    try {
      return await this.transactions.undivided(async () => {
        if (!(await this.notes.strike(note.id))) return [];
        const found: Note[] = [];
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
      await this.leave(note, error);
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
      await this.leave(note, error);
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

  /** What a pause holds back waits for its end; what merely failed is due again. If this fails too, the lease ends. */
  private async leave({ id }: Note, reason: unknown): Promise<void> {
    const held = knownErrorIn(reason);
    const isParked = held instanceof WorkspacePausedError || held instanceof AgentNotRunnableError;
    try {
      await this.transactions.undivided(() => this.notes.leave(id, isParked, this.clock.now()));
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'an owed wake is due only when its lease ends');
    }
  }

  private codeOf(error: unknown): ErrorCode {
    const known = knownErrorIn(error);
    if (known !== undefined) return known.code;
    this.logger.error({ error: String(error) }, 'a wake could not be decided and will be tried again');
    return this.dialect.isUnavailable(error) ? 'database_unavailable' : 'internal';
  }
}

const UNDECIDED = { outcome: 'none', runId: null, allowance: null } as const;

function saysWhom(note: Note): note is WakeNote {
  return note.agentProfileId !== null;
}
