/**
 * Counts under all keys at once on the PostgreSQL database of the given URL, through the built server's own
 * transactions: as soon as the parent says so, and then ends.
 */
import { createRequire } from 'node:module';
import { migratedDataSource } from '../../scripts/migrated-data-source.mjs';
import tally from './tally.cjs';

const require = createRequire(import.meta.url);
const { Database } = {
  .../** @type {typeof import('../../src/database/database.js')} */ (
    require('../../dist/src/database/database.js')
  ),
};
const databaseUrl = process.argv[2] ?? '';
const dataSource = await migratedDataSource(databaseUrl);
const database = await Database.open(dataSource, { migrate: false, databaseUrl });
const said = new Promise((resolve) => process.once('message', resolve));
process.send?.('ready');
await said;
await Promise.all(tally.keys.map((key) => tally.countOne(database, key)));
await database.onApplicationShutdown();
await dataSource.destroy();
process.disconnect();
