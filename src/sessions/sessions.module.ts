import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { OfficeSessionCreator } from './office-session.creator.js';
import { SessionRecords } from './session-records.js';
import { SessionReuse } from './session-reuse.js';
import { SessionsRepository } from './sessions.repository.js';
import { SessionsService } from './sessions.service.js';

@Module({
  imports: [EventsModule, MetricsModule, TasksModule],
  providers: [SessionsRepository, SessionRecords, SessionReuse, OfficeSessionCreator, SessionsService],
  exports: [SessionsService],
})
export class SessionsModule {}
