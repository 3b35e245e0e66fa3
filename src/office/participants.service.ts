import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { RunInterrupts } from '../runs/run-interrupts.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { ParticipantRole, Task, TaskParticipant } from '../tasks/task.schema.js';
import { holdsSeat } from '../tasks/task-seats.js';
import { TasksRepository } from '../tasks/tasks.repository.js';

/** The roles that agents hold on a task beside being its assignee. */
@Injectable()
export class ParticipantsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly tasks: TasksRepository,
    private readonly agents: AgentsRepository,
    private readonly sessions: SessionsService,
    private readonly interrupts: RunInterrupts,
    private readonly clock: Clock,
  ) {}

  list(taskId: string): Promise<readonly TaskParticipant[]> {
    return this.tasks.participants(taskId);
  }

  /** @throws NotFoundError for an unknown task, or an agent that is not of its workspace. */
  add(taskId: string, agentProfileId: string, role: ParticipantRole): Promise<TaskParticipant> {
    return this.transactions.run(async () => {
      const agent = await this.agents.keep(agentProfileId);
      const { workspaceId } = await this.lockedTask(taskId);
      if (agent?.workspaceId !== workspaceId) throw new NotFoundError('agent');
      const wanted = { taskId, agentProfileId, role, workspaceId, createdAt: this.clock.now() };
      return this.tasks.addParticipant(wanted);
    });
  }

  /** Removes one role, or all when it is null. An agent that loses its seat by it is interrupted, its conversation ended. */
  async remove(taskId: string, agentProfileId: string, role: ParticipantRole | null): Promise<void> {
    await this.transactions.run(async () => {
      const task = await this.lockedTask(taskId);
      const wasSeated = holdsSeat(agentProfileId, task, await this.tasks.participants(taskId));
      await this.tasks.removeParticipant(taskId, agentProfileId, role);
      if (!wasSeated || holdsSeat(agentProfileId, task, await this.tasks.participants(taskId))) return;
      await this.interrupts.interrupt({ taskId, agentProfileId });
      await this.sessions.retire({ taskId, agentProfileId });
    });
  }

  private async lockedTask(id: string): Promise<Task> {
    const task = await this.tasks.lock(id);
    if (task === null) throw new NotFoundError('task');
    return task;
  }
}
