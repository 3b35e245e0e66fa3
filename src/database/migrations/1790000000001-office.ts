import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** Workspaces with their pauses, agents, tasks with their participants. */
export class Office1790000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await createWorkspaces(build);
    await createAgents(build);
    await createTasks(build);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['task_participants', 'tasks', 'agents', 'workspace_pauses', 'workspaces']) {
      await runner.dropTable(table);
    }
  }
}

async function createWorkspaces(build: TableBuilder): Promise<void> {
  await build.create('workspaces', [
    build.text('id', primary),
    build.text('name'),
    build.bigint('created_at'),
  ]);
  await build.create(
    'workspace_pauses',
    [
      build.text('id', primary),
      build.text('workspace_id'),
      build.text('reason'),
      build.text('paused_by'),
      build.text('paused_by_kind'),
      build.bigint('paused_at'),
      build.text('released_by', nullable),
      build.text('released_by_kind', nullable),
      build.bigint('released_at', nullable),
    ],
    [
      {
        name: 'workspace_pauses_open',
        columnNames: ['workspace_id'],
        isUnique: true,
        where: 'released_at IS NULL',
      },
    ],
  );
}

async function createAgents(build: TableBuilder): Promise<void> {
  await build.create(
    'agents',
    [
      build.text('id', primary),
      build.text('workspace_id'),
      build.text('name'),
      build.text('role'),
      build.text('status'),
      build.boolean('can_assign_tasks'),
      build.text('command', nullable),
      build.text('executor'),
      build.text('execution_profile_id'),
      build.text('permission_policy'),
      build.text('working_directory', nullable),
      build.text('env'),
      build.integer('max_run_seconds'),
      build.bigint('created_at'),
      build.bigint('updated_at'),
      build.bigint('deleted_at', nullable),
    ],
    [{ name: 'agents_workspace', columnNames: ['workspace_id', 'id'] }],
  );
}

async function createTasks(build: TableBuilder): Promise<void> {
  await build.create(
    'tasks',
    [
      build.text('id', primary),
      build.text('workspace_id'),
      build.text('title'),
      build.text('kind'),
      build.text('state'),
      build.text('priority'),
      build.text('parent_id', nullable),
      build.text('assignee_agent_profile_id', nullable),
      build.integer('assignment_generation'),
      build.bigint('created_at'),
      build.bigint('updated_at'),
    ],
    [{ name: 'tasks_workspace', columnNames: ['workspace_id', 'id'] }],
  );
  await build.create('task_participants', [
    build.text('task_id', primary),
    build.text('agent_profile_id', primary),
    build.text('role', primary),
    build.text('workspace_id'),
    build.bigint('created_at'),
  ]);
}
