/**
 * An error and everything that caused it, outermost first: `cause`, and TypeORM's `driverError`.
 *
 * Each is listed once, so that a chain that bites its own tail ends.
 */
export function causesOf(error: unknown): readonly unknown[] {
  const found = new Set<unknown>();
  const pending = [error];
  while (pending.length > 0) {
    const next = pending.shift();
    if (next === undefined || next === null || found.has(next)) continue;
    found.add(next);
    const { cause, driverError } = next as { cause?: unknown; driverError?: unknown };
    pending.push(cause, driverError);
  }
  return [...found];
}
