import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { type EnsuredSession, SessionsService } from '../sessions/sessions.service.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import type { ClaimReport } from './claim.js';
import { holds, proofOf } from './claim-tokens.js';
import { ClaimsRepository } from './claims.repository.js';
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
  ) {}

  /**
   * Null for a run that is about no task of ours.
   *
   * @throws ClaimLostError when the claim does not hold the run, or stops holding it meanwhile.
   */
  async open(run: Run, report: ClaimReport, executionProfileId: string): Promise<EnsuredSession | null> {
    const proof = proofOf(report);
    if (run.status !== 'claimed' || !holds(proof, run)) throw new ClaimLostError();
    const task = await this.taskOf(run);
    if (task === null) return null;
    const pair = { taskId: task.id, agentProfileId: run.agentProfileId };
    const { session, created } = await this.sessions.ensureForTurn({ ...pair, executionProfileId });
    const sessionId = session.id;
    const kept = await this.transactions.run(() =>
      this.claims.changeHeld(run.id, proof, 'claimed', { sessionId }),
    );
    if (!kept) throw new ClaimLostError();
    return { session: await this.sessions.beginTurn(session), created };
  }

  private async taskOf({ taskId, workspaceId }: Run): Promise<Task | null> {
    if (taskId === null || taskId === '') return null;
    const task = await this.tasks.find(taskId);
    return task?.workspaceId === workspaceId ? task : null;
  }
}
