import { Module } from '@nestjs/common';
import { MetricsModule } from '../metrics/metrics.module.js';
import { EventLog } from './event-log.js';
import { EventSequencer } from './event-sequencer.js';
import { EventTelemetry } from './event-telemetry.js';
import { EventRepository } from './event.repository.js';

@Module({
  imports: [MetricsModule],
  providers: [EventRepository, EventSequencer, EventTelemetry, EventLog],
  exports: [EventLog],
})
export class EventsModule {}
