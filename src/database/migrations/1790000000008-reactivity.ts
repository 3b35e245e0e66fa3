import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ReadableViews1790000000006 } from './1790000000006-readable-views.js';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** They show the columns that a table had when they were made. */
const VIEWS = new ReadableViews1790000000006();

const INDEXES = ['runs_task', 'tasks_unstarted', 'tasks_assignee', 'tasks_parent', 'agents_deleted'];

/** What tasks wake each other by, and how the wakes that they owe are driven until they are decided. */
export class Reactivity1790000000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await createBlockers(build);
    await createComments(build);
    await createRecoveries(build);
    await renewNotes(runner, build);
    await runner.query('CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL');
    await runner.query('CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL');
    await runner.query(
      'CREATE INDEX tasks_assignee ON tasks (assignee_agent_profile_id) WHERE assignee_agent_profile_id IS NOT NULL',
    );
    await runner.query(
      `CREATE INDEX tasks_unstarted ON tasks (created_at, id) WHERE kind = 'office' AND state = 'TODO' AND assignee_agent_profile_id IS NOT NULL`,
    );
    await VIEWS.down(runner);
    await runner.query('ALTER TABLE runs ADD COLUMN is_conclusive boolean');
    await runner.query(`ALTER TABLE runs ADD COLUMN execution_profile_id text${collationOf(runner)}`);
    await VIEWS.up(runner);
    await runner.query(
      `CREATE INDEX runs_task ON runs (workspace_id, task_id, requested_at) WHERE task_id <> ''`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const index of INDEXES) {
      await runner.query(`DROP INDEX ${index}`);
    }
    await VIEWS.down(runner);
    for (const column of ['execution_profile_id', 'is_conclusive'])
      await runner.query(`ALTER TABLE runs DROP COLUMN ${column}`);
    await VIEWS.up(runner);
    await restoreNotes(runner);
    for (const table of ['task_recoveries', 'task_comments', 'task_blockers']) await runner.dropTable(table);
  }
}

/** Words are compared byte by byte, which only PostgreSQL has to be told. */
function collationOf(runner: QueryRunner): string {
  return runner.connection.options.type === 'postgres' ? ' COLLATE "C"' : '';
}

async function createBlockers(build: TableBuilder): Promise<void> {
  await build.create(
    'task_blockers',
    [
      build.text('task_id', primary),
      build.text('blocker_task_id', primary),
      build.text('workspace_id'),
      build.bigint('created_at'),
    ],
    [{ name: 'task_blockers_blocker', columnNames: ['blocker_task_id'] }],
  );
}

async function createComments(build: TableBuilder): Promise<void> {
  await build.create(
    'task_comments',
    [
      build.text('id', primary),
      build.text('workspace_id'),
      build.text('task_id'),
      build.text('author_type'),
      build.text('author_id'),
      build.text('body'),
      build.text('mentions'),
      build.bigint('created_at'),
    ],
    [{ name: 'task_comments_task', columnNames: ['task_id', 'id'] }],
  );
}

async function createRecoveries(build: TableBuilder): Promise<void> {
  await build.create('task_recoveries', [
    build.text('task_id', primary),
    build.integer('assignment_generation'),
    build.integer('recoveries'),
    build.bigint('last_recovery_at'),
  ]);
}

/** What has no recipient yet would have none for ever: the version before knows no such notes. */
async function restoreNotes(runner: QueryRunner): Promise<void> {
  await runner.query('DELETE FROM wake_notes WHERE agent_profile_id IS NULL');
  for (const index of ['wake_notes_due', 'wake_notes_task']) await runner.query(`DROP INDEX ${index}`);
  await runner.query('ALTER TABLE wake_notes DROP COLUMN due_at');
  await runner.query('CREATE INDEX wake_notes_oldest ON wake_notes (created_at, id)');
}

/** A note may have no recipient yet, which SQLite cannot say of a column that exists: the table is built anew. */
async function renewNotes(runner: QueryRunner, build: TableBuilder): Promise<void> {
  await runner.query('ALTER TABLE wake_notes RENAME TO wake_notes_before');
  if (runner.connection.options.type === 'postgres')
    await runner.query(
      'ALTER TABLE wake_notes_before RENAME CONSTRAINT wake_notes_pk TO wake_notes_before_pk',
    );
  await build.create('wake_notes', [
    build.text('id', primary),
    build.text('workspace_id'),
    build.text('task_id'),
    build.integer('assignment_generation'),
    build.text('agent_profile_id', nullable),
    build.text('reason'),
    build.text('payload'),
    build.text('idempotency_key', nullable),
    build.bigint('due_at'),
    build.bigint('created_at'),
  ]);
  const kept =
    'id, workspace_id, task_id, assignment_generation, agent_profile_id, reason, payload, idempotency_key, created_at';
  await runner.query(
    `INSERT INTO wake_notes (${kept}, due_at) SELECT ${kept}, created_at + 30000 FROM wake_notes_before`,
  );
  await runner.query('DROP TABLE wake_notes_before');
  await runner.query('CREATE INDEX wake_notes_due ON wake_notes (due_at, id)');
  await runner.query('CREATE INDEX wake_notes_task ON wake_notes (task_id)');
}
