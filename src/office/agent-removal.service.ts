import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { TokensService } from '../auth/tokens.service.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { RunEndings } from '../runs/run-endings.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { TaskRecords } from '../tasks/task-records.js';
import { NotesRepository } from './reactivity/notes.repository.js';

/** For how long after an agent is deleted its remains are looked for, in milliseconds: longer than any transaction lasts. */
const STRAGGLING_MS = 5 * 60_000;

/** Takes an agent out of its office. */
@Injectable()
export class AgentRemoval {
  constructor(
    private readonly transactions: Transactions,
    private readonly agents: AgentsRepository,
    private readonly tasks: TaskRecords,
    private readonly endings: RunEndings,
    private readonly sessions: SessionsService,
    private readonly notes: NotesRepository,
    private readonly tokens: TokensService,
    private readonly clock: Clock,
  ) {}

  /**
   * Deletes the agent, softly: its row stays for those who read history. Its tasks are nobody's from then on, which is an
   * assignment of each, its runs are cancelled, its conversations ended, its tokens void.
   *
   * @throws NotFoundError
   */
  async remove(id: string): Promise<void> {
    await this.transactions.run(async () => {
      // The agent first: whoever is about to assign to it either has done so or finds it gone.
      if ((await this.agents.lock(id)) === null) throw new NotFoundError('agent');
      await this.agents.update(id, { deletedAt: this.clock.now() });
      for (const taskId of await this.tasks.removeAgent(id))
        await this.sessions.retire({ taskId, agentProfileId: id });
      await this.notes.strikeOwedTo(id);
      await this.clear(id);
    });
  }

  /** Clears away what was made for an agent at the very moment at which it was deleted. */
  async sweep(): Promise<void> {
    for (const { id } of await this.agents.deletedSince(this.clock.now() - STRAGGLING_MS))
      await this.clear(id);
  }

  private async clear(id: string): Promise<void> {
    await this.endings.withdrawAll(id);
    await this.sessions.retireAll(id);
    await this.tokens.revokeOfAgent(id);
  }
}
