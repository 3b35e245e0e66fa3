import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../events/event-log.js';
import { ClaimsRepository } from './claims.repository.js';

/** Asks running turns to stop. Their workers hear of it at the next heartbeat, those in this process at once. */
@Injectable()
export class RunInterrupts {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly events: EventLog,
    private readonly clock: Clock,
  ) {}

  /** Interrupts the turn that is running in a session; does nothing when there is none. */
  async interrupt(sessionId: string): Promise<void> {
    await this.transactions.run(async () => {
      const run = await this.claims.claimedInSession(sessionId);
      if (run === null) return;
      if (!(await this.claims.change(run.id, 'claimed', { interruptRequestedAt: this.clock.now() }))) return;
      const { id: runId, agentProfileId, workspaceId } = run;
      const task = run.taskId === null ? {} : { taskId: run.taskId };
      const subject = { sessionId, runId, agentProfileId, ...task };
      await this.events.append({ type: 'session.interrupt_requested', workspaceId, subject });
      this.transactions.afterCommit(() => {
        this.hurry(runId);
      });
    });
  }

  /** Says within this process that a run's holder should ask how it stands. */
  hurry(runId: string): void {
    this.emitter.emit(runId);
  }

  /** Calls `listener` when the run's holder should ask how it stands, until the answered function is called. */
  listen(runId: string, listener: () => void): () => void {
    this.emitter.on(runId, listener);
    return () => {
      this.emitter.off(runId, listener);
    };
  }
}
