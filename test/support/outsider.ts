import { Client } from 'pg';
import sqlite3 from 'sqlite3';
import { Transactions } from '../../src/database/transactions.js';
import type { TestReveille } from './reveille.js';

/** A client such as operators have: on the same database, with none of our settings and outside of our transactions. */
export interface Outsider {
  query<T = unknown>(sql: string, parameters?: readonly unknown[]): Promise<T[]>;
}

/** Lends an outsider to `work`, and closes it afterwards with whatever it has left open. */
export async function asOutsider<T>(
  reveille: TestReveille,
  work: (outsider: Outsider) => Promise<T>,
): Promise<T> {
  const { options } = reveille.get(Transactions).reading().connection;
  return options.type === 'postgres'
    ? onPostgres(postgresUrl(reveille), work)
    : onSqlite(String(options.database), work);
}

/** Where the PostgreSQL database of a Reveille is, for whoever else is to open it. */
export function postgresUrl(reveille: TestReveille): string {
  const { options } = reveille.get(Transactions).reading().connection;
  if (options.type !== 'postgres' || options.url === undefined) throw new Error('It runs on SQLite.');
  return options.url;
}

/** The same on a PostgreSQL database that no Reveille need be open on. */
export async function onPostgres<T>(url: string, work: (outsider: Outsider) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work({
      query: async <R>(sql: string, parameters: readonly unknown[] = []) =>
        (await client.query(sql, [...parameters])).rows as R[],
    });
  } finally {
    await client.end();
  }
}

/** The same on a database that other processes serve. */
export function onDatabase<T>(url: string, work: (outsider: Outsider) => Promise<T>): Promise<T> {
  return url.startsWith('sqlite:') ? onSqlite(url.slice('sqlite:'.length), work) : onPostgres(url, work);
}

async function onSqlite<T>(file: string, work: (outsider: Outsider) => Promise<T>): Promise<T> {
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(file, (error) => {
      settle(
        error,
        () => {
          resolve(opened);
        },
        reject,
      );
    });
  });
  try {
    return await work({
      query: <R>(sql: string, parameters: readonly unknown[] = []) =>
        new Promise<R[]>((resolve, reject) => {
          database.all<R>(sql, parameters, (error, rows) => {
            settle(
              error,
              () => {
                resolve(rows);
              },
              reject,
            );
          });
        }),
    });
  } finally {
    await new Promise<void>((resolve, reject) => {
      database.close((error) => {
        settle(error, resolve, reject);
      });
    });
  }
}

function settle(error: Error | null, resolve: () => void, reject: (error: Error) => void): void {
  if (error === null) resolve();
  else reject(error);
}
