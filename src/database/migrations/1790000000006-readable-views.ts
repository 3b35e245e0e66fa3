import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The columns that hold instants, by the table that people read through a view. */
const INSTANTS: Readonly<Record<string, readonly string[]>> = {
  runs: [
    'requested_at',
    'claimed_at',
    'finished_at',
    'scheduled_retry_at',
    'lease_expires_at',
    'interrupt_requested_at',
  ],
  task_sessions: ['started_at', 'updated_at', 'completed_at'],
};

/** PostgreSQL's views for people and dashboards, in which instants read as `timestamptz`. Never the claim's secrets. */
export class ReadableViews1790000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (runner.connection.options.type !== 'postgres') return;
    for (const [table, instants] of Object.entries(INSTANTS)) {
      const columns = (await runner.getTable(table))?.columns ?? [];
      const shown = columns
        .map(({ name }) => name)
        .filter((name) => name !== 'claim_token_hash')
        .map((name) => (instants.includes(name) ? `to_timestamp(${name} / 1000.0) AS ${name}` : name));
      await runner.query(`CREATE VIEW ${table}_readable AS SELECT ${shown.join(', ')} FROM ${table}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    if (runner.connection.options.type !== 'postgres') return;
    for (const table of Object.keys(INSTANTS)) await runner.query(`DROP VIEW ${table}_readable`);
  }
}
