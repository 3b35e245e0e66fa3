import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import type { Session } from '../sessions/session.schema.js';
import { isTerminal } from '../sessions/session-state.js';
import type { EnsuredSession } from '../sessions/office-sessions.js';
import { SessionTurns } from '../sessions/session-turns.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { ClaimReport } from './claim.js';
import { holds, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
import { lockedRun } from './locked-run.js';
import { RunEndings } from './run-endings.js';
import { ClaimLostError } from './run.errors.js';
import type { Run } from './run.schema.js';

/** Opens the conversation in which a claimed run's turn takes place. */
@Injectable()
export class RunSessions {
  constructor(
    private readonly transactions: Transactions,
    private readonly claims: ClaimsRepository,
    private readonly tasks: TasksRepository,
    private readonly sessions: SessionsService,
    private readonly turns: SessionTurns,
    private readonly endings: RunEndings,
  ) {}

  /**
   * Null for a run that is about no task of ours.
   *
   * @throws ClaimLostError when the claim does not hold the run, or stops holding it meanwhile.
   */
  async open(run: Run, report: ClaimReport, executionProfileId: string): Promise<EnsuredSession | null> {
    if (run.status !== 'claimed' || !holds(proofOf(report), run)) throw new ClaimLostError();
    const task = await this.taskOf(run);
    if (task === null) return null;
    const opened = await this.opened(task.id, run);
    if (opened !== null) return { session: opened, created: false };
    const pair = { taskId: task.id, agentProfileId: run.agentProfileId };
    const { session, created } = await this.sessions.ensureForTurn({ ...pair, executionProfileId });
    return { session: await this.begin(run, report, session), created };
  }

  /** The session that this claim has opened before, asked for again. */
  private async opened(taskId: string, { sessionId }: Run): Promise<Session | null> {
    if (sessionId === null) return null;
    const session = await this.sessions.getOfTask(taskId, sessionId);
    return isTerminal(session.state) ? null : session;
  }

  /**
   * The turn begins, unless the agent was interrupted or its conversation ended since the claim: whoever took its task
   * could stop no turn then, because there was none, so the run ends here. The task is locked first, as by whoever hands
   * it over, so that one of the two sees the other.
   */
  private async begin(run: Run, report: ClaimReport, { id, taskId }: Session): Promise<Session> {
    const begun = await this.transactions.run(async () => {
      const task = await this.tasks.lock(taskId);
      const current = await lockedRun(this.claims, run.id);
      if (current.status !== 'claimed' || !holds(proofOf(report), current)) {
        await this.rest(run, taskId, id);
        return null;
      }
      const session = await this.sessions.getOfTask(taskId, id);
      if (current.interruptRequestedAt === null && !isTerminal(session.state)) {
        const { executionProfileId } = session;
        await this.claims.change(run.id, 'claimed', { sessionId: id, executionProfileId });
        return this.turns.begin(session);
      }
      // A turn that has begun before is stopped by its heartbeat; its worker still has a process to let go of.
      if (current.sessionId === null)
        await this.endings.abandon({ ...current, sessionId: id }, 'interrupted');
      if (task !== null) await this.sessions.retireUnlessSeated(run.agentProfileId, task);
      return null;
    });
    if (begun === null) throw new ClaimLostError();
    return begun;
  }

  /** Nobody will work in a session that was taken into use for a lost claim, unless the agent holds another about the task. */
  private async rest({ agentProfileId }: Run, taskId: string, id: string): Promise<void> {
    const held = await this.claims.claimedAbout(taskId);
    if (held.some((run) => run.agentProfileId === agentProfileId)) return;
    await this.turns.end(taskId, id, { executionProfileId: null });
  }

  private async taskOf({ taskId, workspaceId }: Run): Promise<Task | null> {
    if (taskId === null || taskId === '') return null;
    const task = await this.tasks.find(taskId);
    return task?.workspaceId === workspaceId ? task : null;
  }
}
