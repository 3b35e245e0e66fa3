import { Injectable, Logger } from '@nestjs/common';
import { AgentsRepository } from '../../agents/agents.repository.js';
import { Clock } from '../../clock/clock.js';
import { Transactions } from '../../database/transactions.js';
import { Staleness } from '../../runs/staleness.js';
import { speaksToAssignee } from '../../runs/wake-reason.js';
import { TasksRepository } from '../../tasks/tasks.repository.js';
import type { Note } from './note.schema.js';
import { LEASE_MS } from './note-book.js';
import { NotesRepository } from './notes.repository.js';
import { Reactivity } from './reactivity.service.js';

/** How many notes one statement reads. */
const PAGE = 100;

/** Takes up the notes whose drivers have died, that could not be decided, or that a pause has held back until now. */
@Injectable()
export class NoteSweep {
  private readonly logger = new Logger(NoteSweep.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly notes: NotesRepository,
    private readonly agents: AgentsRepository,
    private readonly tasks: TasksRepository,
    private readonly staleness: Staleness,
    private readonly reactivity: Reactivity,
    private readonly clock: Clock,
  ) {}

  /** `isStopping` is asked before each note. Default: goes on to the last. */
  async sweep(isStopping = (): boolean => false): Promise<void> {
    const now = this.clock.now();
    let after: string | null = null;
    for (;;) {
      const page: Note[] = await this.notes.due(now, after, PAGE);
      for (const note of page) {
        if (isStopping()) return;
        await this.attempt(note);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  /** One that fails keeps no other from being taken up. */
  private async attempt(note: Note): Promise<void> {
    try {
      await this.takeUp(note);
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'an owed wake could not be taken up');
    }
  }

  private async takeUp(note: Note): Promise<void> {
    const leased = await this.transactions.run(() => this.notes.lease(note, this.clock.now() + LEASE_MS));
    if (!leased) return;
    if (await this.isOvertaken(note)) await this.transactions.run(() => this.notes.strike(note.id));
    else await this.reactivity.carryOut([note]);
  }

  /** What was owed to an agent that is gone, or is the assignee no longer, is owed to nobody. */
  private async isOvertaken(note: Note): Promise<boolean> {
    if (note.agentProfileId === null) return false;
    if ((await this.agents.find(note.agentProfileId)) === null) return true;
    if ((await this.staleness.reason(note)) !== null) return true;
    return speaksToAssignee(note.reason) && (await this.isReassigned(note));
  }

  /** A later assignment, if only to the same agent, has brought a wake of its own. */
  private async isReassigned({ taskId, assignmentGeneration }: Note): Promise<boolean> {
    return (await this.tasks.find(taskId))?.assignmentGeneration !== assignmentGeneration;
  }
}
