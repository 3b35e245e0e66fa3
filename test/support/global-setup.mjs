import pg from 'pg';
import { buildIfStale } from '../../scripts/build-if-stale.mjs';
import { startPostgres } from '../../scripts/postgres.mjs';
import { keep } from './shared-postgres.mjs';

/** The database from which every test file's own is copied: migrated once, copied in a fraction of the time. */
const TEMPLATE = 'reveille_template';

/** Some tests run the built server, and all of them need a PostgreSQL: `TEST_DATABASE_URL`'s, or one of our own. */
export default async function setUp() {
  buildIfStale();
  const given = process.env['TEST_DATABASE_URL'];
  const server = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() };
  keep(server);
  process.env['REVEILLE_TEST_POSTGRES'] = server.url;
  await makeTemplate(server.url);
}

/** @param {string} serverUrl */
async function makeTemplate(serverUrl) {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`);
    await client.query(`CREATE DATABASE ${TEMPLATE}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${TEMPLATE}`;
  const { migratedDataSource } = await import('../../scripts/migrated-data-source.mjs');
  const dataSource = await migratedDataSource(url.href);
  await dataSource.destroy();
}
