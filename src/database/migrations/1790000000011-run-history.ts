import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds an agent's ended runs by their age, so that old ones can be forgotten without reading the rest. */
export class RunHistory1790000000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX runs_ended ON runs (agent_profile_id, requested_at, id) WHERE status IN ('finished', 'failed', 'cancelled')`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX runs_ended');
  }
}
