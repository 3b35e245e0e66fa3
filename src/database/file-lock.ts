import sqlite3 from 'sqlite3';

/** Another process serves this SQLite file. */
export class DatabaseInUseError extends Error {
  constructor(file: string, options?: ErrorOptions) {
    super(
      `${file} is already served by another Reveille. One SQLite file has one server: stop the other one, ` +
        'or use PostgreSQL to run several.',
      options,
    );
  }
}

/**
 * Claims an SQLite file for this process until it ends.
 *
 * The claim is an exclusive transaction held open on a file beside it, so the system frees it with the process,
 * however that dies; a file with a process id in it would outlive its process and mean somebody else later.
 *
 * @throws DatabaseInUseError when another process holds it.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const database = await open(`${file}.lock`);
  try {
    await execute(database, 'PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    await close(database);
    const isHeld = (error as { code?: string }).code === 'SQLITE_BUSY';
    throw isHeld ? new DatabaseInUseError(file, { cause: error }) : error;
  }
  return () => close(database);
}

function open(file: string): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const database = new sqlite3.Database(file, (error) => {
      if (error === null) resolve(database);
      else reject(error);
    });
  });
}

function execute(database: sqlite3.Database, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    database.exec(sql, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function close(database: sqlite3.Database): Promise<void> {
  return new Promise((resolve, reject) => {
    database.close((error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}
