/** How deep a payload may be nested; the object itself is the first level. */
export const MOST_DEPTH = 32;

/** How many keys a payload may have, those of its inner objects included. */
export const MOST_KEYS = 1000;

/** Whether a value keeps to the limits. Looks level by level and so needs no stack, however deep the value is. */
export function isWithinLimits(value: unknown): boolean {
  let level: unknown[] = [value];
  let keys = 0;
  for (let depth = 0; level.length > 0; depth++) {
    const inner: unknown[] = [];
    for (const container of level.filter(isContainer)) {
      if (depth === MOST_DEPTH) return false;
      if (!Array.isArray(container)) keys += Object.keys(container).length;
      if (keys > MOST_KEYS) return false;
      for (const value of Object.values(container) as unknown[]) inner.push(value);
    }
    level = inner;
  }
  return true;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
