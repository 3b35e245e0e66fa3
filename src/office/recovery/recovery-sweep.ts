import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../clock/clock.js';
import { Transactions } from '../../database/transactions.js';
import { SchedulerService } from '../../scheduler/scheduler.service.js';
import { knownErrorIn } from '../../errors/known-error.js';
import type { WakeRequest } from '../../scheduler/wake.js';
import type { Task } from '../../tasks/task.schema.js';
import { TasksRepository } from '../../tasks/tasks.repository.js';
import { ASSIGNMENT_PRODUCERS } from '../producers/producers.js';
import { RecoveriesRepository } from './recoveries.repository.js';
import { RECOVERIES_PER_TICK } from './recovery-limits.js';

/** Starts office tasks that were assigned and that nothing ever started, a few at a time and not for ever. */
@Injectable()
export class RecoverySweep {
  private readonly logger = new Logger(RecoverySweep.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly tasks: TasksRepository,
    private readonly recoveries: RecoveriesRepository,
    private readonly scheduler: SchedulerService,
    private readonly clock: Clock,
  ) {}

  async sweep(): Promise<void> {
    for (const { id } of await this.recoveries.unstarted(this.clock.now(), RECOVERIES_PER_TICK)) {
      await this.transactions
        .run(() => this.recover(id))
        .catch((error: unknown) => {
          this.logger.error({ task_id: id, error: String(error) }, 'a task could not be started anew');
        });
    }
  }

  /** Locked first, then looked at: of two servers that found the task the second sees what the first has done. */
  private async recover(id: string): Promise<void> {
    const task = await this.tasks.lock(id);
    const assignee = task?.assigneeAgentProfileId ?? null;
    const now = this.clock.now();
    if (task === null || assignee === null || !(await this.recoveries.isUnstarted(id, now))) return;
    await this.count(task, now);
    const { key, payload, ...wake } = ASSIGNMENT_PRODUCERS.recoverySweep(task, assignee);
    this.scheduler.reportKeyless(wake.reason, key);
    await this.wake({ ...wake, payload: JSON.stringify(payload) });
  }

  /**
   * What a pause or the agent holds back costs nothing. What fails otherwise counts all the same: it must not stand at the
   * head of every tick for ever.
   */
  private async wake(request: WakeRequest): Promise<void> {
    try {
      await this.transactions.savepoint(() => this.scheduler.queueRun(request));
    } catch (error) {
      if (knownErrorIn(error) !== undefined) throw error;
      await this.scheduler.keepUndecided(request, error);
    }
  }

  /** An assignment made since begins to count anew. */
  private async count({ id: taskId, assignmentGeneration }: Task, lastRecoveryAt: number): Promise<void> {
    const before = await this.recoveries.find(taskId);
    const counted = before?.assignmentGeneration === assignmentGeneration ? before.recoveries : 0;
    await this.recoveries.save({ taskId, assignmentGeneration, recoveries: counted + 1, lastRecoveryAt });
  }
}
