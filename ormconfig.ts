import { DataSource } from 'typeorm';
import { parseDatabaseUrl } from './src/config/database-url.js';
import { readEnvironment } from './src/config/read-environment.js';
import { dataSourceOptions } from './src/database/data-source-options.js';
import { REVEILLE_SCHEMA } from './src/entities.js';

/** For TypeORM's command line: `npx typeorm -d dist/ormconfig.js migration:show`. */
export default new DataSource(
  dataSourceOptions(parseDatabaseUrl(readEnvironment().options.databaseUrl), REVEILLE_SCHEMA),
);
