import { stopKept } from './shared-postgres.mjs';

export default async function tearDown() {
  await stopKept();
}
