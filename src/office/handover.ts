import { Injectable } from '@nestjs/common';
import { RunInterrupts } from '../runs/run-interrupts.js';
import { isTerminal } from '../sessions/session-state.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { holdsSeat } from '../tasks/task-seats.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';

/** What happens to an agent that a task is taken away from: its turn is interrupted, its conversation may end. */
@Injectable()
export class Handover {
  constructor(
    private readonly tasks: TasksRepository,
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
    await this.retireUnlessSeated(previous, after);
    return session === null || isTerminal(session.state) ? null : session.id;
  }

  /** Ends the agent's conversation about the task, unless it still takes part in another role. */
  async retireUnlessSeated(agentProfileId: string, task: Task): Promise<void> {
    if (holdsSeat(agentProfileId, task, await this.tasks.participants(task.id))) return;
    await this.sessions.retire({ taskId: task.id, agentProfileId });
  }
}
