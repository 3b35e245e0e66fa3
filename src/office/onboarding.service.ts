import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { TaskRecords } from '../tasks/task-records.js';
import type { Task } from '../tasks/task.schema.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { ASSIGNMENT_PRODUCERS } from './producers/producers.js';
import type { Reaction } from './reactivity/reaction.js';
import { Reactivity } from './reactivity/reactivity.service.js';

/** What a coordinator starts with. */
export interface OnboardingInput {
  readonly workspaceId: string;
  readonly agentProfileId: string;
  readonly title: string;
}

/** Gives a new coordinator its first task. */
@Injectable()
export class OnboardingService {
  constructor(
    private readonly transactions: Transactions,
    private readonly workspaces: WorkspacesService,
    private readonly agents: AgentsRepository,
    private readonly records: TaskRecords,
    private readonly reactivity: Reactivity,
  ) {}

  /**
   * Creates the starter task and wakes its agent in one transaction. The task stands even when the wake does not: a
   * pause holds it back as it would any other.
   *
   * @throws NotFoundError for an unknown workspace, or an agent that is not of it.
   */
  async onboard(input: OnboardingInput): Promise<{ task: Task; reaction: Reaction }> {
    const { workspaceId, agentProfileId, title } = input;
    await this.workspaces.get(workspaceId);
    return this.transactions.run(async () => {
      if ((await this.agents.keep(agentProfileId))?.workspaceId !== workspaceId)
        throw new NotFoundError('agent');
      const assigned = {
        workspaceId,
        title,
        kind: 'office',
        assigneeAgentProfileId: agentProfileId,
      } as const;
      const task = await this.records.insert(assigned);
      const wake = ASSIGNMENT_PRODUCERS.onboarding(task, agentProfileId);
      return { task, reaction: await this.reactivity.wake(task, wake) };
    });
  }
}
