import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../../agents/agents.repository.js';
import { Clock } from '../../clock/clock.js';
import { Transactions } from '../../database/transactions.js';
import { Staleness } from '../../runs/staleness.js';
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
  constructor(
    private readonly transactions: Transactions,
    private readonly notes: NotesRepository,
    private readonly agents: AgentsRepository,
    private readonly tasks: TasksRepository,
    private readonly staleness: Staleness,
    private readonly reactivity: Reactivity,
    private readonly clock: Clock,
  ) {}

  async sweep(): Promise<void> {
    const now = this.clock.now();
    let after: string | null = null;
    for (;;) {
      const page: Note[] = await this.notes.due(now, after, PAGE);
      for (const note of page) await this.takeUp(note);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  private async takeUp(note: Note): Promise<void> {
    const leased = await this.transactions.run(() => this.notes.lease(note, this.clock.now() + LEASE_MS));
    if (!leased) return;
    if (await this.isOvertaken(note)) await this.transactions.run(() => this.notes.strike(note.id));
    else await this.reactivity.carryOut([note]);
  }

  /** What was owed to an agent that is gone, or is the assignee no longer, is owed to nobody. */
  private async isOvertaken({ agentProfileId, ...note }: Note): Promise<boolean> {
    if (agentProfileId === null) return false;
    if ((await this.agents.find(agentProfileId)) === null) return true;
    if ((await this.staleness.reason({ agentProfileId, ...note })) !== null) return true;
    return note.reason === 'task_assigned' && (await this.isReassigned(note));
  }

  /** Every assignment brings its own note, so an earlier one's would wake the same agent twice. */
  private async isReassigned({
    taskId,
    assignmentGeneration,
  }: Pick<Note, 'taskId' | 'assignmentGeneration'>): Promise<boolean> {
    return (await this.tasks.find(taskId))?.assignmentGeneration !== assignmentGeneration;
  }
}
