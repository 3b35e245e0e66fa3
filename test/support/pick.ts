/** The item at the index, which there must be. */
export function pick<T>(items: readonly T[], index = 0): T {
  const item = items[index];
  if (item === undefined) throw new Error(`There is no item ${index} among ${items.length}.`);
  return item;
}
