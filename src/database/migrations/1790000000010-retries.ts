import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ReadableViews1790000000006 } from './1790000000006-readable-views.js';

/** They show the columns that a table had when they were made. */
const VIEWS = new ReadableViews1790000000006();

/** Which ended run a person had tried again by which new one. */
export class Retries1790000000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Ids are compared byte by byte, which only PostgreSQL has to be told.
    const collation = runner.connection.options.type === 'postgres' ? ' COLLATE "C"' : '';
    await VIEWS.down(runner);
    await runner.query(`ALTER TABLE runs ADD COLUMN retry_of text${collation}`);
    await VIEWS.up(runner);
    await runner.query('CREATE INDEX runs_retry_of ON runs (retry_of) WHERE retry_of IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX runs_retry_of');
    await VIEWS.down(runner);
    await runner.query('ALTER TABLE runs DROP COLUMN retry_of');
    await VIEWS.up(runner);
  }
}
