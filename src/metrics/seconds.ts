/** How long ago the instant is, in seconds; 0 for none, and for one that is still to come. */
export function secondsSince(instant: number | null, now: number): number {
  return instant === null ? 0 : Math.max(0, now - instant) / 1000;
}
