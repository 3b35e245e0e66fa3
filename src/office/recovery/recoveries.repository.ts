import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { runnable } from '../../agents/agent.schema.js';
import { Transactions } from '../../database/transactions.js';
import { type Task, TaskSchema } from '../../tasks/task.schema.js';
import { paused } from '../../workspaces/workspace.schema.js';
import {
  RECOVERIES_PER_GENERATION,
  RECOVERY_GAPS_MS,
  RECOVERY_LOOK_BACK_MS,
  UNTOUCHED_MS,
} from './recovery-limits.js';
import { type Recovery, RecoverySchema } from './recovery.schema.js';

/**
 * What must hold of a task for it to have been forgotten, in the words of the indexes `tasks_unstarted` and `runs_task`. A
 * coordinator that has heard of the failure of a task's run has not started the task.
 */
const UNSTARTED = [
  `task.kind = 'office' AND task.state = 'TODO' AND task.assignee_agent_profile_id IS NOT NULL`,
  'task.created_at > :youngerThan AND task.updated_at <= :untouchedSince',
  `EXISTS (SELECT 1 FROM agents agent WHERE agent.id = task.assignee_agent_profile_id AND ${runnable('agent')})`,
  `NOT ${paused('task.workspace_id')}`,
  'NOT EXISTS (SELECT 1 FROM wake_notes note WHERE note.task_id = task.id AND note.agent_profile_id = task.assignee_agent_profile_id)',
  `NOT EXISTS (SELECT 1 FROM runs run WHERE run.workspace_id = task.workspace_id AND run.task_id = task.id AND run.task_id <> '' AND run.reason <> 'agent_error' AND (run.status IN ('queued', 'claimed', 'finished') OR run.is_conclusive))`,
  `NOT EXISTS (SELECT 1 FROM task_recoveries recovery WHERE recovery.task_id = task.id AND recovery.assignment_generation = task.assignment_generation AND (recovery.recoveries >= :most OR ${tooSoon()}))`,
];

/** Every statement over tasks that were assigned and never started. */
@Injectable()
export class RecoveriesRepository {
  constructor(private readonly transactions: Transactions) {}

  /** The tasks to be started, oldest first. */
  unstarted(now: number, limit: number): Promise<Task[]> {
    return this.query(now).orderBy('task.createdAt').addOrderBy('task.id').limit(limit).getMany();
  }

  /** Whether the task is one of them. */
  isUnstarted(id: string, now: number): Promise<boolean> {
    return this.query(now).andWhere('task.id = :id', { id }).getExists();
  }

  find(taskId: string): Promise<Recovery | null> {
    return this.transactions.reading().findOneBy(RecoverySchema, { taskId });
  }

  async save(recovery: Recovery): Promise<void> {
    await this.transactions.writing().upsert(RecoverySchema, recovery, ['taskId']);
  }

  private query(now: number): SelectQueryBuilder<Task> {
    return this.transactions
      .reading()
      .createQueryBuilder(TaskSchema, 'task')
      .where(UNSTARTED.join(' AND '), {
        youngerThan: now - RECOVERY_LOOK_BACK_MS,
        untouchedSince: now - UNTOUCHED_MS,
        most: RECOVERIES_PER_GENERATION,
        ...Object.fromEntries(RECOVERY_GAPS_MS.map((gap, index) => [`since${index + 1}`, now - gap])),
      });
  }
}

/** Whether the last recovery is not long enough ago, by how many there were. */
function tooSoon(): string {
  return RECOVERY_GAPS_MS.map((_gap, index) => index + 1)
    .map((count) => `(recovery.recoveries = ${count} AND recovery.last_recovery_at > :since${count})`)
    .join(' OR ');
}
