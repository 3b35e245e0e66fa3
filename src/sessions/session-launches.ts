import { Inject, Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { WantedSession } from './office-session-creator.js';
import { type EnsuredSession, OfficeSessions } from './office-sessions.js';
import type { Session } from './session.schema.js';
import { SessionRecords } from './session-records.js';
import { isTerminal } from './session-state.js';
import { SESSION_STORE, type SessionStore } from './session-store.js';

/** The session that a launch asks for; without an agent it names no pair. */
export type LaunchRequest = Pick<WantedSession, 'taskId' | 'executionProfileId'> & {
  readonly agentProfileId?: string | null | undefined;
  readonly executorId?: string | null | undefined;
};

/**
 * The ways to a session that are free of the guard, on purpose: a kanban task is relaunched beside the session that is
 * still live, a workflow prepares a replacement before it ends what is replaced, an agent spawns a helper of itself
 * (AC-OFFICE-SESSION-IDENTITY-004.2 to .4). A guard here would refuse what these flows live by.
 */
@Injectable()
export class SessionLaunches {
  constructor(
    private readonly transactions: Transactions,
    @Inject(SESSION_STORE) private readonly store: SessionStore,
    private readonly tasks: TasksRepository,
    private readonly agents: AgentsRepository,
    private readonly officeSessions: OfficeSessions,
    private readonly records: SessionRecords,
  ) {}

  /** @throws NotFoundError */
  launch(request: LaunchRequest): Promise<Session> {
    const { taskId, executionProfileId, agentProfileId = null, executorId = null } = request;
    return this.transactions.run(async () => {
      if (agentProfileId !== null) await this.agents.keepUnlessUnknown(agentProfileId);
      // Locked for the mark of a task's first session, which only one may bear; not to refuse anybody.
      const task = await this.tasks.lock(taskId);
      if (task === null) throw new NotFoundError('task');
      const { workspaceId } = task;
      return this.records.insert({ taskId, workspaceId, agentProfileId, executionProfileId, executorId });
    });
  }

  replace({ taskId, agentProfileId, executionProfileId, executorId }: Session): Promise<Session> {
    return this.launch({ taskId, agentProfileId, executionProfileId, executorId });
  }

  /**
   * For the named agent, else for the spawner's own. On an office task with an assignee, who is asked for or nobody is,
   * there is one conversation to go to already.
   *
   * @throws NotFoundError for an agent that is not of the task's workspace.
   */
  async spawn(spawner: Session, named: string | null): Promise<EnsuredSession> {
    const task = await this.tasks.find(spawner.taskId);
    if (task === null) throw new NotFoundError('task');
    const assignee = convergesOn(task, named);
    if (assignee !== null) return this.converge(spawner, assignee);
    const agentProfileId = named ?? spawner.agentProfileId;
    const executionProfileId = await this.profileFor(agentProfileId, spawner);
    const { taskId, executorId } = spawner;
    const session = await this.launch({ taskId, agentProfileId, executionProfileId, executorId });
    return { session, created: true };
  }

  /** A spawn names no profile, so the conversation that is there keeps its own. */
  private async converge(spawner: Session, agentProfileId: string): Promise<EnsuredSession> {
    const { taskId, executorId } = spawner;
    const found = await this.store.findPreferred({ taskId, agentProfileId });
    const executionProfileId =
      found !== null && !isTerminal(found.state)
        ? found.executionProfileId
        : await this.profileFor(agentProfileId, spawner);
    return this.officeSessions.ensure({ taskId, agentProfileId, executionProfileId, executorId });
  }

  /** Another agent is launched with its own profile, not with that of whoever spawned it. */
  private async profileFor(agentProfileId: string | null, spawner: Session): Promise<string> {
    if (agentProfileId === null || agentProfileId === spawner.agentProfileId)
      return spawner.executionProfileId;
    const agent = await this.agents.find(agentProfileId);
    if (agent?.workspaceId !== spawner.workspaceId) throw new NotFoundError('agent');
    return agent.executionProfileId;
  }
}

/** The assignee of an office task, unless somebody else is asked for. */
function convergesOn({ kind, assigneeAgentProfileId: assignee }: Task, named: string | null): string | null {
  return kind === 'office' && (named === null || named === assignee) ? assignee : null;
}
