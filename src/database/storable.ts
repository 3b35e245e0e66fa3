/** A text as both databases can store it: PostgreSQL knows neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
