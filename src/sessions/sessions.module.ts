import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { EventsModule } from '../events/events.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { HostedSessionCreator } from './hosted-session.creator.js';
import { OfficeSessionCreator } from './office-session-creator.js';
import { OfficeSessions } from './office-sessions.js';
import { SessionLaunches } from './session-launches.js';
import { SessionRecords } from './session-records.js';
import { SessionReuse } from './session-reuse.js';
import { HOST_SESSION_STORE, SESSION_STORE, type SessionStore } from './session-store.js';
import { SessionTurns } from './session-turns.js';
import { SessionsRepository } from './sessions.repository.js';
import { SessionsService } from './sessions.service.js';
import { TransactionalSessionCreator } from './transactional-session.creator.js';

@Module({
  imports: [AgentsModule, EventsModule, MetricsModule, TasksModule],
  providers: [
    SessionsRepository,
    {
      provide: SESSION_STORE,
      inject: [HOST_SESSION_STORE, SessionsRepository],
      useFactory: (host: SessionStore | null, own: SessionsRepository): SessionStore => host ?? own,
    },
    SessionRecords,
    SessionReuse,
    TransactionalSessionCreator,
    HostedSessionCreator,
    {
      provide: OfficeSessionCreator,
      inject: [HOST_SESSION_STORE, TransactionalSessionCreator, HostedSessionCreator],
      useFactory: (host: SessionStore | null, own: OfficeSessionCreator, hosted: OfficeSessionCreator) =>
        host === null ? own : hosted,
    },
    OfficeSessions,
    SessionLaunches,
    SessionTurns,
    SessionsService,
  ],
  exports: [SessionsService, SessionTurns],
})
export class SessionsModule {}
