import { type ArgumentsHost, Catch, type ExceptionFilter, ServiceUnavailableException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Problems } from './problems.js';

/** Answers every error, the framework's own included, with a problem that a caller can act on. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly problems: Problems,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (error instanceof ServiceUnavailableException) {
      // Health checks say in their own body what is amiss.
      httpAdapter.reply(response, error.getResponse(), error.getStatus());
      return;
    }
    const answer = this.problems.of(error);
    if (answer.status === 401) httpAdapter.setHeader(response, 'WWW-Authenticate', 'Bearer');
    if (answer.status === 503) httpAdapter.setHeader(response, 'Retry-After', '1');
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json; charset=utf-8');
    httpAdapter.reply(response, answer, answer.status);
  }
}
