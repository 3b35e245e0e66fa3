import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
  ServiceUnavailableException,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ZodValidationException } from 'nestjs-zod';
import { ZodError } from 'zod';
import { causesOf } from '../database/causes.js';
import { Dialect } from '../database/dialect.js';
import { type ErrorCode, ReveilleError } from '../errors/reveille-error.js';
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

/** Turns every error, the framework's own included, into a problem that a caller can act on. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly dialect: Dialect,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (error instanceof ServiceUnavailableException) {
      // Health checks say in their own body what is amiss.
      httpAdapter.reply(response, error.getResponse(), error.getStatus());
      return;
    }
    const answer = this.problemOf(error);
    if (answer.status === 401) httpAdapter.setHeader(response, 'WWW-Authenticate', 'Bearer');
    if (answer.status === 503) httpAdapter.setHeader(response, 'Retry-After', '1');
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json; charset=utf-8');
    httpAdapter.reply(response, answer, answer.status);
  }

  private problemOf(error: unknown): Problem {
    const known = causesOf(error).find((cause) => cause instanceof ReveilleError);
    if (known !== undefined) return problem(known.code, known.message);
    if (error instanceof ZodValidationException) return invalid(error.getZodError());
    if (error instanceof HttpException) return ofFramework(error);
    if (this.dialect.isUnavailable(error)) {
      this.logger.warn({ error: String(error) }, 'the database did not answer');
      return problem(
        'database_unavailable',
        'The database cannot be reached. Nothing was changed, or it is unknown.',
      );
    }
    this.logger.error({ error: String(error), stack: (error as Error).stack }, 'a request failed');
    return problem('internal', 'Something went wrong here. The log has the details.');
  }
}

function ofFramework(error: HttpException): Problem {
  const code = CODE_OF_STATUS[error.getStatus()];
  return code === undefined ? problem('internal', 'The request failed.') : problem(code, error.message);
}

function invalid(error: unknown): Problem {
  const issues = error instanceof ZodError ? error.issues : [];
  const errors = issues.map(({ path, message }) => ({
    pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    detail: message,
  }));
  return problem('validation_failed', 'The request does not have the right shape.', errors);
}
