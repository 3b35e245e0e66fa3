import type { MigrationInterface, QueryRunner, TableIndexOptions } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

const KEY = ['workspace_id', 'key_scope', 'idempotency_key'];

const RUN_INDICES: TableIndexOptions[] = [
  { name: 'runs_key', columnNames: KEY, isUnique: true, where: 'idempotency_key IS NOT NULL' },
  {
    name: 'runs_one_held_per_agent',
    columnNames: ['agent_profile_id'],
    isUnique: true,
    where: `status = 'claimed' OR claim_token_hash IS NOT NULL`,
  },
  {
    name: 'runs_allowance',
    columnNames: ['workspace_id', 'task_id', 'reason', 'requested_at'],
    where: `actor_type = 'agent'`,
  },
  {
    name: 'runs_coalescing',
    columnNames: ['agent_profile_id', 'reason', 'task_id', 'requested_at'],
    where: `status = 'queued'`,
  },
  {
    name: 'runs_head',
    columnNames: ['agent_profile_id', 'requested_at', 'id'],
    where: `status = 'queued'`,
  },
  { name: 'runs_newest', columnNames: ['workspace_id', 'requested_at', 'id'] },
];

/** The queue, and the ledger of the wakes that were merged in it. */
export class Runs1790000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await createRuns(build);
    await createLedger(build);
    await dropLedgerWithItsRun(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('run_wakes');
    await runner.dropTable('runs');
    if (runner.connection.options.type !== 'postgres') return;
    await runner.query('DROP FUNCTION reveille_drop_run_wakes()');
    await runner.query('DROP FUNCTION reveille_truncate_run_wakes()');
  }
}

async function createRuns(build: TableBuilder): Promise<void> {
  await build.create('runs', [...wakeColumns(build), ...workColumns(build)], RUN_INDICES);
}

function wakeColumns(build: TableBuilder) {
  return [
    build.text('id', primary),
    build.text('workspace_id'),
    build.text('agent_profile_id'),
    build.text('reason'),
    build.text('payload'),
    build.text('task_id', nullable),
    build.text('actor_type', nullable),
    build.text('actor_id', nullable),
    build.text('status'),
    build.integer('coalesced_count'),
    build.text('idempotency_key', nullable),
    build.text('key_scope'),
    build.bigint('requested_at'),
  ];
}

function workColumns(build: TableBuilder) {
  return [
    build.bigint('claimed_at', nullable),
    build.bigint('finished_at', nullable),
    build.integer('retry_count'),
    build.integer('attempt'),
    build.bigint('scheduled_retry_at', nullable),
    build.text('session_id', nullable),
    build.text('worker_id', nullable),
    build.text('claim_token_hash', nullable),
    build.text('claimed_by_token_id', nullable),
    build.bigint('lease_expires_at', nullable),
    build.bigint('interrupt_requested_at', nullable),
    build.text('output_summary', nullable),
    build.text('error_message', nullable),
    build.text('cancel_reason', nullable),
  ];
}

async function createLedger(build: TableBuilder): Promise<void> {
  await build.create(
    'run_wakes',
    [
      build.text('id', primary),
      build.text('run_id'),
      build.text('workspace_id'),
      build.text('payload'),
      build.text('actor_type', nullable),
      build.text('actor_id', nullable),
      build.text('idempotency_key', nullable),
      build.text('key_scope'),
      build.bigint('requested_at'),
    ],
    [
      { name: 'run_wakes_key', columnNames: KEY, isUnique: true, where: 'idempotency_key IS NOT NULL' },
      { name: 'run_wakes_run', columnNames: ['run_id', 'requested_at', 'id'] },
    ],
  );
}

/**
 * A trigger rather than a foreign key: on SQLite a foreign key acts only for clients that ask for it, and operators
 * delete runs with clients of their own.
 */
async function dropLedgerWithItsRun(runner: QueryRunner): Promise<void> {
  if (runner.connection.options.type === 'postgres') {
    await runner.query(`
      CREATE FUNCTION reveille_drop_run_wakes() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN DELETE FROM run_wakes WHERE run_id = OLD.id; RETURN OLD; END $$`);
    await runner.query(`
      CREATE TRIGGER runs_drop_wakes AFTER DELETE ON runs
      FOR EACH ROW EXECUTE FUNCTION reveille_drop_run_wakes()`);
    await runner.query(`
      CREATE FUNCTION reveille_truncate_run_wakes() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN DELETE FROM run_wakes; RETURN NULL; END $$`);
    await runner.query(`
      CREATE TRIGGER runs_truncate_wakes AFTER TRUNCATE ON runs
      FOR EACH STATEMENT EXECUTE FUNCTION reveille_truncate_run_wakes()`);
  } else {
    await runner.query(`
      CREATE TRIGGER runs_drop_wakes AFTER DELETE ON runs
      BEGIN DELETE FROM run_wakes WHERE run_id = OLD.id; END`);
  }
}
