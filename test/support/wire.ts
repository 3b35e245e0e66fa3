import { Client } from 'pg';
import sqlite3 from 'sqlite3';

/** A statement as a driver was given it, and the connection that it was given to. */
export interface SentStatement {
  readonly connection: object;
  readonly sql: string;
}

/**
 * Runs `work` and answers what both drivers were told to send meanwhile, in order: readers' statements and the ends of
 * transactions too, which no QueryRunner of TypeORM shows.
 */
export async function wireOf(work: () => Promise<unknown>): Promise<readonly SentStatement[]> {
  const spies = [
    jest.spyOn(Client.prototype, 'query'),
    jest.spyOn(sqlite3.Database.prototype, 'all'),
    jest.spyOn(sqlite3.Database.prototype, 'run'),
  ];
  try {
    await work();
    const sent = spies.flatMap(({ mock }) =>
      mock.calls.map(([statement]: readonly unknown[], place) => ({
        order: mock.invocationCallOrder[place] ?? 0,
        connection: mock.contexts[place] as object,
        sql: textOf(statement),
      })),
    );
    return sent.sort((one, other) => one.order - other.order);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

function textOf(statement: unknown): string {
  return typeof statement === 'string' ? statement : (statement as { text: string }).text;
}
