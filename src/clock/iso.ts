/** An instant as JSON shows it: ISO 8601 in UTC with milliseconds. */
export function toIso(instant: number): string {
  return new Date(instant).toISOString();
}

/** The same for an instant that may not have come. */
export function toIsoOrNull(instant: number | null): string | null {
  return instant === null ? null : toIso(instant);
}
