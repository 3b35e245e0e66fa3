import { buildIfStale } from './build-if-stale.mjs';
import { migratedDataSource } from './migrated-data-source.mjs';
import { startPostgres } from './postgres.mjs';

/**
 * What would have to change in a freshly migrated database for it to have the tables that the entities describe.
 *
 * @param {string} databaseUrl
 */
async function drift(databaseUrl) {
  const dataSource = await migratedDataSource(databaseUrl);
  try {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  } finally {
    await dataSource.destroy();
  }
}

buildIfStale();
const server = await startPostgres();
try {
  const found = [...(await drift('sqlite::memory:')), ...(await drift(server.url))];
  for (const statement of found) console.error(statement);
  console.log(
    found.length === 0 ? 'The migrations build what the entities describe.' : 'The migrations have drifted.',
  );
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  await server.stop();
}
