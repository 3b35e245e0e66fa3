/** What PostgreSQL says when it refuses, as far as our code asks: the dialect knows errors by these two fields. */
export class DatabaseError extends Error {
  constructor(
    readonly code: string,
    readonly constraint?: string,
  ) {
    super(constraint === undefined ? `error ${code}` : `error ${code} of ${constraint}`);
  }
}

export const UNIQUE_VIOLATION = '23505';
export const DEADLOCK = '40P01';
export const LOCK_TIMEOUT = '55P03';
export const CANCELED = '57014';
const IN_FAILED_TRANSACTION = '25P02';

export function inFailedTransaction(): DatabaseError {
  return new DatabaseError(IN_FAILED_TRANSACTION);
}
