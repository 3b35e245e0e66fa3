import { resolve } from 'node:path';

/** The database that a `DATABASE_URL` names. */
export type DatabaseTarget =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** A private SQLite file that is gone at exit. */
  | { readonly kind: 'sqlite'; readonly file: null }
  | { readonly kind: 'postgres'; readonly url: string };

/**
 * Reads `sqlite:./relative.db`, `sqlite:/absolute.db`, `sqlite::memory:` or `postgres://…`.
 *
 * @throws Error that says what is accepted.
 */
export function parseDatabaseUrl(url: string): DatabaseTarget {
  if (url === 'sqlite::memory:') return { kind: 'sqlite', file: null };
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length) {
    return { kind: 'sqlite', file: resolve(url.slice('sqlite:'.length)) };
  }
  if (/^postgres(ql)?:\/\/./.test(url) && URL.canParse(url)) return { kind: 'postgres', url };
  throw new Error('must be sqlite:<file>, sqlite::memory: or postgres://<host>/<database>');
}

/** Whether the database of that `DATABASE_URL` is gone with the process. */
export function isTemporary(databaseUrl: string): boolean {
  const target = parseDatabaseUrl(databaseUrl);
  return target.kind === 'sqlite' && target.file === null;
}
