import { createRequire } from 'node:module';
import { DataSource } from 'typeorm';

const require = createRequire(import.meta.url);

/**
 * Opens a database with the built server's own options and brings its schema up to date.
 *
 * @param {string} databaseUrl
 * @returns {Promise<DataSource>}
 */
export async function migratedDataSource(databaseUrl) {
  const { parseDatabaseUrl } = require('../dist/src/config/database-url.js');
  const { dataSourceOptions } = require('../dist/src/database/data-source-options.js');
  const { migrate } = require('../dist/src/database/migrate.js');
  const { REVEILLE_SCHEMA } = require('../dist/src/entities.js');
  const dataSource = new DataSource(dataSourceOptions(parseDatabaseUrl(databaseUrl), REVEILLE_SCHEMA));
  await dataSource.initialize();
  await migrate(dataSource);
  return dataSource;
}
