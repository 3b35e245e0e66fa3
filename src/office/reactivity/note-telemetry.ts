import { Injectable } from '@nestjs/common';
import { Clock } from '../../clock/clock.js';
import { MetricsService } from '../../metrics/metrics.service.js';
import { secondsSince } from '../../metrics/seconds.js';
import { NotesRepository } from './notes.repository.js';

/** What is told of the wakes that are owed. */
@Injectable()
export class NoteTelemetry {
  constructor(metrics: MetricsService, notes: NotesRepository, clock: Clock) {
    metrics.gauge(
      {
        name: 'office_notes_oldest_seconds',
        help: 'Age of the oldest wake that a mutation owes and that no pause parks, in seconds; 0 when there is none.',
      },
      {},
      async (gauge) => {
        gauge.set(secondsSince(await notes.oldestAt(), clock.now()));
      },
    );
  }
}
