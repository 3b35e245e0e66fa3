/** How long something is looked for before a test gives up: short of the runner's own limit, so that it says for what. */
const PATIENCE_MS = 20_000;

/** Looks until `found` answers something other than undefined, and answers that. Each look is a request or a statement. */
export async function until<T>(what: string, found: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    const answer = await found();
    if (answer !== undefined) return answer;
  }
  throw new Error(`It never came to this: ${what}`);
}
