import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** What became of the wakes that made no run. */
export class Decisions1790000000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await build.create(
      'decisions',
      [
        build.text('id', primary),
        build.text('workspace_id'),
        build.text('agent_profile_id'),
        build.text('task_id', nullable),
        build.text('reason'),
        build.text('outcome'),
        build.text('error', nullable),
        build.text('gate', nullable),
        build.text('actor_type', nullable),
        build.text('actor_id', nullable),
        build.text('run_id', nullable),
        build.text('allowance', nullable),
        build.integer('count'),
        build.bigint('first_at'),
        build.bigint('last_at'),
      ],
      [
        { name: 'decisions_fold', columnNames: ['agent_profile_id', 'reason', 'outcome', 'first_at'] },
        { name: 'decisions_newest', columnNames: ['workspace_id', 'first_at', 'id'] },
        { name: 'decisions_oldest', columnNames: ['last_at'] },
      ],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('decisions');
  }
}
