import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** What a mutation leaves behind in its own transaction: events to be told, and wakes that are owed. */
export class EventsAndNotes1790000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const build = new TableBuilder(runner);
    await createEvents(build);
    await runner.query('INSERT INTO event_sequence (id, last) VALUES (1, 0)');
    await build.create(
      'wake_notes',
      [
        build.text('id', primary),
        build.text('workspace_id'),
        build.text('task_id'),
        build.integer('assignment_generation'),
        build.text('agent_profile_id'),
        build.text('reason'),
        build.text('payload'),
        build.text('idempotency_key', nullable),
        build.bigint('created_at'),
      ],
      [{ name: 'wake_notes_oldest', columnNames: ['created_at', 'id'] }],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['wake_notes', 'event_sequence', 'events']) await runner.dropTable(table);
  }
}

async function createEvents(build: TableBuilder): Promise<void> {
  await build.create(
    'events',
    [
      build.text('id', primary),
      build.bigint('number', nullable),
      build.text('workspace_id'),
      build.text('type'),
      build.bigint('at'),
      build.text('subject'),
      build.text('data'),
    ],
    [
      { name: 'events_number', columnNames: ['number'], isUnique: true, where: 'number IS NOT NULL' },
      { name: 'events_workspace', columnNames: ['workspace_id', 'number'] },
      { name: 'events_unnumbered', columnNames: ['at', 'id'], where: 'number IS NULL' },
    ],
  );
  await build.create('event_sequence', [build.integer('id', primary), build.bigint('last')]);
}
