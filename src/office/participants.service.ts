import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Clock } from '../clock/clock.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { ParticipantRole, Task, TaskParticipant } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';

/** The roles that agents hold on a task beside being its assignee. */
@Injectable()
export class ParticipantsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly tasks: TasksRepository,
    private readonly agents: AgentsRepository,
    private readonly sessions: SessionsService,
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
      const participant = { taskId, agentProfileId, role, workspaceId, createdAt: this.clock.now() };
      await this.tasks.addParticipant(participant);
      return participant;
    });
  }

  /** Removes one role, or all when it is null; an agent that takes no more part ends its conversation. */
  async remove(taskId: string, agentProfileId: string, role: ParticipantRole | null): Promise<void> {
    await this.transactions.run(async () => {
      const task = await this.lockedTask(taskId);
      await this.tasks.removeParticipant(taskId, agentProfileId, role);
      await this.sessions.retireUnlessSeated(agentProfileId, task);
    });
  }

  private async lockedTask(id: string): Promise<Task> {
    const task = await this.tasks.lock(id);
    if (task === null) throw new NotFoundError('task');
    return task;
  }
}
