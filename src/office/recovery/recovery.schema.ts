import { EntitySchema } from 'typeorm';
import { instant, integer, text } from '../../database/columns.js';

/** How often a task was started for want of anybody else, since the assignment that it tells of. */
export interface Recovery {
  readonly taskId: string;
  readonly assignmentGeneration: number;
  readonly recoveries: number;
  readonly lastRecoveryAt: number;
}

export const RecoverySchema = new EntitySchema<Recovery>({
  name: 'task_recoveries',
  columns: {
    taskId: text('task_id', { primary: true }),
    assignmentGeneration: integer('assignment_generation'),
    recoveries: integer('recoveries'),
    lastRecoveryAt: instant('last_recovery_at'),
  },
});
