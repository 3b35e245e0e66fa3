/** How often something is looked at before a test gives up; each look is a request or a statement, which takes its time. */
const LOOKS = 2_000;

/** Looks until `found` answers something other than undefined, and answers that. */
export async function until<T>(what: string, found: () => Promise<T | undefined>): Promise<T> {
  for (let look = 0; look < LOOKS; look++) {
    const answer = await found();
    if (answer !== undefined) return answer;
  }
  throw new Error(`It never came to this: ${what}`);
}
