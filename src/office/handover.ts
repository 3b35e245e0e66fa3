import { Injectable, Logger } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { RunInterrupts } from '../runs/run-interrupts.js';
import { WaitingRetries } from '../runs/waiting-retries.js';
import type { SessionPair } from '../sessions/session.errors.js';
import { isTerminal } from '../sessions/session-state.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { Task } from '../tasks/task.schema.js';
import { isClosed } from '../tasks/task-status.js';

/** What a mutation does to the agent that was at work: its turn is interrupted, its conversation may end. */
@Injectable()
export class Handover {
  private readonly logger = new Logger(Handover.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly sessions: SessionsService,
    private readonly interrupts: RunInterrupts,
    private readonly retries: WaitingRetries,
  ) {}

  /**
   * Interrupts whoever had the task, if it is taken away, and everybody at work on it, if it is cancelled. Answers the live
   * session of whoever had it, or null. The same agent assigned again is no hand-over: it keeps its turn and its
   * conversation.
   */
  async carryOut(before: Task, after: Task): Promise<string | null> {
    const previous = before.assigneeAgentProfileId;
    const isTakenAway = previous !== after.assigneeAgentProfileId;
    const isCancelled = before.state !== 'CANCELLED' && after.state === 'CANCELLED';
    if (isCancelled) await this.interrupts.interruptAll(before.id);
    await this.dropOvertaken(before, after);
    if (previous === null || !(isTakenAway || isCancelled)) return null;
    const pair = { taskId: before.id, agentProfileId: previous };
    const sessionId = await this.liveSessionOf(pair);
    if (isTakenAway) await this.takeFrom(pair, after);
    return sessionId;
  }

  private async liveSessionOf(pair: SessionPair): Promise<string | null> {
    const session = await this.sessions.find(pair);
    return session === null || isTerminal(session.state) ? null : session.id;
  }

  private async takeFrom(pair: SessionPair, after: Task): Promise<void> {
    await this.interrupts.interrupt(pair);
    await this.tidy(() => this.retries.dropOf(pair));
    await this.sessions.retireUnlessSeated(pair.agentProfileId, after);
  }

  private async dropOvertaken(before: Task, after: Task): Promise<void> {
    if (!isClosed(before) && isClosed(after))
      await this.tidy(() => this.retries.dropStale(after.workspaceId, after.id));
  }

  /** A retry that stays is recognised as overtaken when its turn comes, and cancelled then. */
  private async tidy(drop: () => Promise<void>): Promise<void> {
    try {
      await this.transactions.savepoint(drop);
    } catch (error) {
      this.logger.warn(
        { error: String(error) },
        'retries that a mutation has overtaken could not be cancelled',
      );
    }
  }
}
