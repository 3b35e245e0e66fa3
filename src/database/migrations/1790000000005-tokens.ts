import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** Bearer tokens, hashed. */
export class Tokens1790000000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await build.create(
      'tokens',
      [
        build.text('id', primary),
        build.text('kind'),
        build.text('workspace_id', nullable),
        build.text('agent_profile_id', nullable),
        build.text('run_id', nullable),
        build.text('name'),
        build.text('subject', nullable),
        build.text('agent_profile_ids', nullable),
        build.text('secret_hash'),
        build.bigint('created_at'),
        build.bigint('expires_at', nullable),
        build.bigint('last_used_at', nullable),
      ],
      [
        { name: 'tokens_workspace', columnNames: ['workspace_id', 'id'] },
        { name: 'tokens_run', columnNames: ['run_id'], where: 'run_id IS NOT NULL' },
      ],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('tokens');
  }
}
