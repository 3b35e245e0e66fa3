import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** Sessions, with the three indexes that the criteria permit and no others. */
export class Sessions1790000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await build.create(
      'task_sessions',
      [
        build.text('id', primary),
        build.text('task_id'),
        build.text('workspace_id'),
        build.text('agent_profile_id', nullable),
        build.text('execution_profile_id'),
        build.text('executor_id', nullable),
        build.text('state'),
        build.text('metadata'),
        build.boolean('is_primary'),
        build.bigint('started_at'),
        build.bigint('updated_at'),
        build.bigint('completed_at', nullable),
      ],
      [
        { name: 'task_sessions_task', columnNames: ['task_id'] },
        { name: 'task_sessions_state', columnNames: ['state'] },
        { name: 'task_sessions_task_state', columnNames: ['task_id', 'state'] },
      ],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('task_sessions');
  }
}
