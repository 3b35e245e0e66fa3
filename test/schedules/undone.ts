/** Thrown to have a unit of work, or a step of one, undone. */
export class Undone extends Error {}

/** Rethrows everything else. */
export function ignoreUndone(error: unknown): void {
  if (!(error instanceof Undone)) throw error;
}
