import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';

/** Any number, the same in every Reveille: it names the lock under which schemas are changed. */
const MIGRATION_LOCK = 7_238_911;

/** Changes of the schema wait for one another however long that takes, and a big table may take its time. */
const PATIENCE = 'SET lock_timeout = 0; SET statement_timeout = 0';

/**
 * Brings the schema up to date. Processes that start together on one PostgreSQL take turns; on SQLite the claim on the
 * file has already left only one of them.
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  if (dataSource.options.type !== 'postgres') {
    await dataSource.runMigrations({ transaction: 'each' });
    return;
  }
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(PATIENCE);
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    // On this very connection: one of the pool's others has not been told to be patient.
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    await executor.executePendingMigrations();
  } finally {
    await giveBack(runner);
  }
}

/** Where the connection is gone, the lock and the settings are gone with it, and the first error says why. */
async function giveBack(runner: QueryRunner): Promise<void> {
  try {
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    await runner.query('RESET lock_timeout; RESET statement_timeout');
  } catch {
    // As said above.
  } finally {
    await runner.release();
  }
}
