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
  const { parseDatabaseUrl, dataSourceOptions, migrate, REVEILLE_SCHEMA } = built();
  const dataSource = new DataSource(dataSourceOptions(parseDatabaseUrl(databaseUrl), REVEILLE_SCHEMA));
  await dataSource.initialize();
  await migrate(dataSource);
  return dataSource;
}

/** Loaded only when asked for: this file may be read before there is a build. */
function built() {
  return {
    .../** @type {typeof import('../src/config/database-url.js')} */ (
      require('../dist/src/config/database-url.js')
    ),
    .../** @type {typeof import('../src/database/data-source-options.js')} */ (
      require('../dist/src/database/data-source-options.js')
    ),
    .../** @type {typeof import('../src/database/migrate.js')} */ (
      require('../dist/src/database/migrate.js')
    ),
    .../** @type {typeof import('../src/entities.js')} */ (require('../dist/src/entities.js')),
  };
}
