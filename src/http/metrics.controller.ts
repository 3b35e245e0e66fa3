import { Controller, Get, Headers, Inject, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { UnauthenticatedError } from '../auth/auth.errors.js';
import { hashOf, sameHash } from '../auth/token-text.js';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { OpenToAnybody } from './auth/rights.decorator.js';

/** Everything that is counted, in Prometheus's text format. */
@Controller('metrics')
@OpenToAnybody()
export class MetricsController {
  constructor(
    private readonly metrics: MetricsService,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {}

  @Get()
  async read(
    @Headers('authorization') authorization: string | undefined,
    @Res({ passthrough: true }) response: unknown,
  ): Promise<string> {
    const { metricsToken } = this.options;
    const expected = `Bearer ${metricsToken ?? ''}`;
    if (metricsToken !== null && !sameHash(hashOf(authorization ?? ''), hashOf(expected))) {
      throw new UnauthenticatedError();
    }
    this.adapterHost.httpAdapter.setHeader(response, 'Content-Type', this.metrics.contentType);
    return this.metrics.text();
  }
}
