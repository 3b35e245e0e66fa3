import { NotFoundError } from '../errors/reveille-error.js';
import type { ClaimsRepository } from './claims.repository.js';
import type { Run } from './run.schema.js';

/**
 * The run as it is now and stays until the transaction ends: what is decided on it is decided on what is true.
 *
 * @throws NotFoundError
 */
export async function lockedRun(claims: ClaimsRepository, id: string): Promise<Run> {
  const run = await claims.lock(id);
  if (run === null) throw new NotFoundError('run');
  return run;
}
