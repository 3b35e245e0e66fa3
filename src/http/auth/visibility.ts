import type { Principal } from '../../auth/principal.js';
import { NotFoundError } from '../../errors/reveille-error.js';

/** Whether the caller can see that workspace at all. */
export function sees(caller: Principal, workspaceId: string): boolean {
  return caller.workspaceId === null || caller.workspaceId === workspaceId;
}

/**
 * The row, when it is in a workspace that the caller can see.
 *
 * @throws NotFoundError otherwise: what another workspace has is not even forbidden.
 */
export function visible<T extends { readonly workspaceId: string }>(
  caller: Principal,
  row: T,
  what: string,
): T {
  if (!sees(caller, row.workspaceId)) throw new NotFoundError(what);
  return row;
}
