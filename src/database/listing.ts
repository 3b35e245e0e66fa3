import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';

/** Where a list goes on that is sorted by an instant, then an id. */
export interface InstantPlace {
  readonly instant: number;
  readonly id: string;
}

/** Keeps the rows that have the given values; what is left open is not asked. */
export function onlyWhere<T extends ObjectLiteral>(
  query: SelectQueryBuilder<T>,
  values: Readonly<Record<string, string | undefined>>,
): SelectQueryBuilder<T> {
  for (const [field, value] of Object.entries(values)) {
    if (value !== undefined) query.andWhere(`${query.alias}.${field} = :${field}`, { [field]: value });
  }
  return query;
}

/** The rows by id after the given one, at most `limit`. */
export function byId<T extends ObjectLiteral>(
  query: SelectQueryBuilder<T>,
  after: string | null,
  limit: number,
): Promise<T[]> {
  if (after !== null) query.andWhere(`${query.alias}.id > :after`, { after });
  return query.orderBy(`${query.alias}.id`).limit(limit).getMany();
}

/** The rows newest first by the given instant, then by id, after the given place, at most `limit`. */
export function newestFirst<T extends ObjectLiteral>(
  query: SelectQueryBuilder<T>,
  instantField: string,
  { after, limit }: { readonly after: InstantPlace | null; readonly limit: number },
): Promise<T[]> {
  const [instant, id] = [`${query.alias}.${instantField}`, `${query.alias}.id`];
  if (after !== null) {
    query.andWhere(`(${instant} < :placeInstant OR (${instant} = :placeInstant AND ${id} < :placeId))`, {
      placeInstant: after.instant,
      placeId: after.id,
    });
  }
  return query.orderBy(instant, 'DESC').addOrderBy(id, 'DESC').limit(limit).getMany();
}
