import { HttpException, Injectable, Logger } from '@nestjs/common';
import { ZodValidationException } from 'nestjs-zod';
import { ZodError } from 'zod';
import { Dialect } from '../database/dialect.js';
import { knownErrorIn } from '../errors/known-error.js';
import type { ErrorCode } from '../errors/reveille-error.js';
import { type Problem, problem } from './problem.js';

/** The codes of what the framework itself refuses, by status. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'validation_failed',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
};

/** Puts errors as problems: ours by their code, the framework's by their status, and a fault without its insides. */
@Injectable()
export class Problems {
  private readonly logger = new Logger(Problems.name);

  constructor(private readonly dialect: Dialect) {}

  of(error: unknown): Problem {
    const known = knownErrorIn(error);
    if (known !== undefined) return { ...known.members, ...problem(known.code, known.message) };
    if (error instanceof ZodError) return invalid(error);
    if (error instanceof ZodValidationException) return this.of(error.getZodError());
    if (error instanceof HttpException) return ofFramework(error);
    return this.ofFault(error);
  }

  private ofFault(error: unknown): Problem {
    if (this.dialect.isUnavailable(error)) {
      this.logger.warn({ error: String(error) }, 'the database did not answer');
      return problem(
        'database_unavailable',
        'The database does not answer. Whether anything was changed is unknown.',
      );
    }
    if (this.dialect.isLockTimeout(error)) {
      this.logger.warn({ error: String(error) }, 'a lock was not to be had in time');
      return problem('overloaded', 'Others were at it for too long. Nothing was changed.');
    }
    this.logger.error({ error: String(error), stack: (error as Error).stack }, 'a request failed');
    return problem('internal', 'Something went wrong here. The log has the details.');
  }
}

function ofFramework(error: HttpException): Problem {
  const code = CODE_OF_STATUS[error.getStatus()];
  return code === undefined ? problem('internal', 'The request failed.') : problem(code, error.message);
}

function invalid({ issues }: ZodError): Problem {
  const errors = issues.map(({ path, message }) => ({
    pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    detail: message,
  }));
  return problem('validation_failed', 'The request does not have the right shape.', errors);
}
