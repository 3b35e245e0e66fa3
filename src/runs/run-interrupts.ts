import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Channel } from '../database/channel.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../events/event-log.js';
import type { SessionPair } from '../sessions/session.errors.js';
import { ClaimsRepository } from './claims.repository.js';
import type { Run } from './run.schema.js';
import { subjectOf } from './run-subject.js';

/** What the processes tell each other of by a run's id. */
const TOPIC = 'interrupt';

/** Asks running turns to stop. Their workers hear of it at the next heartbeat, those inside of a server at once. */
@Injectable()
export class RunInterrupts {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly events: EventLog,
    private readonly clock: Clock,
    private readonly channel: Channel,
  ) {
    channel.hear(TOPIC, (runId) => {
      this.emitter.emit(runId);
    });
  }

  /** Interrupts what the agent is doing about the task; does nothing when it holds no run of it. */
  async interrupt({ taskId, agentProfileId }: SessionPair): Promise<void> {
    for (const run of await this.claims.claimedAbout(taskId))
      if (run.agentProfileId === agentProfileId) await this.stop(run);
  }

  /** Interrupts whatever anybody is doing about the task. */
  async interruptAll(taskId: string): Promise<void> {
    for (const run of await this.claims.claimedAbout(taskId)) await this.stop(run);
  }

  private async stop(run: Run): Promise<void> {
    await this.transactions.run(async () => {
      if (!(await this.claims.change(run.id, 'claimed', { interruptRequestedAt: this.clock.now() }))) return;
      const { id, workspaceId } = run;
      await this.events.append({ type: 'session.interrupt_requested', workspaceId, subject: subjectOf(run) });
      this.transactions.afterCommit(() => {
        this.hurry(id);
      });
    });
  }

  /** Says that a run's holder should ask how it stands, in whichever process it is. */
  hurry(runId: string): void {
    this.emitter.emit(runId);
    this.channel.tell(TOPIC, runId);
  }

  /** Calls `listener` when the run's holder should ask how it stands, until the answered function is called. */
  listen(runId: string, listener: () => void): () => void {
    // In the listener's own context: what it does is no part of the request that asked for the interrupt.
    const bound = AsyncResource.bind(listener);
    this.emitter.on(runId, bound);
    return () => {
      this.emitter.off(runId, bound);
    };
  }
}
