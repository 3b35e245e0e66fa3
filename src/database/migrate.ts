import type { DataSource } from 'typeorm';

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
  const keeper = dataSource.createQueryRunner();
  try {
    await keeper.query(PATIENCE);
    await keeper.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await dataSource.runMigrations({ transaction: 'each' });
  } finally {
    await keeper.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    await keeper.query('RESET lock_timeout; RESET statement_timeout');
    await keeper.release();
  }
}
