import { z } from 'zod';
import type { InstantPlace } from '../database/listing.js';
import { ValidationError } from '../errors/reveille-error.js';
import { isStorable } from './schemas/fields.js';

/** A place in a list that is sorted by an instant, then an id. */
const instantPlace = z.tuple([
  z
    .string()
    .regex(/^-?\d{1,15}$/)
    .transform(Number),
  z.string(),
]);

/** A page of a list; `nextCursor` is null on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/** How a page is asked for. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many items at the most.'),
  cursor: z.string().max(500).optional().describe('Where the page before this one ended: its `nextCursor`.'),
};

/**
 * Reads one row more than asked for, which tells whether there is another page.
 *
 * @param read the rows after a place, at most so many.
 * @param placeOf what the next page goes on from.
 */
export async function pageOf<Row, Item>(
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  read: (after: readonly string[] | null, count: number) => Promise<readonly Row[]>,
  { placeOf, view }: { placeOf: (row: Row) => readonly string[]; view: (row: Row) => Item },
): Promise<Page<Item>> {
  const rows = await read(cursor === undefined ? null : decode(cursor), limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(view),
    nextCursor: rows.length > limit && last !== undefined ? encode(placeOf(last)) : null,
  };
}

function encode(place: readonly string[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function decode(cursor: string): readonly string[] {
  try {
    return z
      .array(z.string().refine(isStorable))
      .min(1)
      .parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new ValidationError('The cursor is none of ours.');
  }
}

/**
 * The instant and the id at which a page goes on.
 *
 * @throws ValidationError when the cursor is of another list.
 */
export function instantPlaceIn(after: readonly string[] | null): InstantPlace | null {
  if (after === null) return null;
  const place = instantPlace.safeParse(after);
  if (!place.success) throw new ValidationError('The cursor is none of this list.');
  const [instant, id] = place.data;
  return { instant, id };
}
