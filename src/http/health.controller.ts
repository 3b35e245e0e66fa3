import { Controller, Get } from '@nestjs/common';
import { HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Database } from '../database/database.js';
import { OpenToAnybody } from './auth/rights.decorator.js';
import { Readiness } from './readiness.js';

@Controller('health')
@OpenToAnybody()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly database: Database,
    private readonly readiness: Readiness,
  ) {}

  /** The process is there. Touches nothing: a database that is away is no reason to start a server anew. */
  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /** The server can do its work: the database answers, its schema is current, and nobody has told it to stop. */
  @Get('ready')
  ready() {
    return this.health.check([() => this.databaseAnswers(), () => this.isServing()]);
  }

  private async databaseAnswers() {
    const indicator = this.indicators.check('database');
    try {
      return (await this.database.isBehind()) ? indicator.down('a migration is pending') : indicator.up();
    } catch {
      return indicator.down('it does not answer');
    }
  }

  private isServing() {
    const indicator = this.indicators.check('server');
    return this.readiness.draining ? indicator.down('it is stopping') : indicator.up();
  }
}
