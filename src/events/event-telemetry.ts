import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { secondsSince } from '../metrics/seconds.js';
import { EventRepository } from './event.repository.js';

/** What is told of the event log itself. */
@Injectable()
export class EventTelemetry {
  constructor(metrics: MetricsService, repository: EventRepository, clock: Clock) {
    metrics.gauge(
      {
        name: 'office_events_lag_seconds',
        help: 'Age of the oldest event that readers are not shown, because it has no number yet, in seconds; 0 when there is none.',
      },
      {},
      async (gauge) => {
        gauge.set(secondsSince(await repository.oldestUnnumberedAt(), clock.now()));
      },
    );
  }
}
