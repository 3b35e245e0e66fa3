import { Injectable } from '@nestjs/common';
import { RunInterrupts } from '../runs/run-interrupts.js';
import { isTerminal } from '../sessions/session-state.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { Task } from '../tasks/task.schema.js';

/** What happens to an agent that a task is taken away from: its turn is interrupted, its conversation may end. */
@Injectable()
export class Handover {
  constructor(
    private readonly sessions: SessionsService,
    private readonly interrupts: RunInterrupts,
  ) {}

  /**
   * Interrupts the previous assignee and answers its live session, or null. The same agent assigned again is no
   * hand-over: it keeps its turn and its conversation.
   */
  async from(before: Task, after: Task): Promise<string | null> {
    const previous = before.assigneeAgentProfileId;
    if (previous === null || previous === after.assigneeAgentProfileId) return null;
    const pair = { taskId: before.id, agentProfileId: previous };
    const session = await this.sessions.find(pair);
    await this.interrupts.interrupt(pair);
    await this.sessions.retireUnlessSeated(previous, after);
    return session === null || isTerminal(session.state) ? null : session.id;
  }
}
