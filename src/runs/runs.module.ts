import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { EventsModule } from '../events/events.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { ClaimBlockersRepository } from './claim-blockers.repository.js';
import { ClaimExplainer } from './claim-explainer.js';
import { ClaimIssuer } from './claim-issuer.js';
import { ClaimPicker } from './claim-picker.js';
import { ClaimTokens } from './claim-tokens.js';
import { ClaimWaits } from './claim-waits.js';
import { ClaimsRepository } from './claims.repository.js';
import { QueueHeads } from './queue-heads.js';
import { FinalFailures } from './final-failures.js';
import { RetriesRepository } from './retries.repository.js';
import { RunEndings } from './run-endings.js';
import { RunFailures } from './run-failures.js';
import { RunGauges } from './run-gauges.repository.js';
import { RunHistory } from './run-history.repository.js';
import { RunInterrupts } from './run-interrupts.js';
import { RunKeys } from './run-keys.js';
import { RunLeases } from './run-leases.js';
import { RunNews } from './run-news.js';
import { RunSessions } from './run-sessions.js';
import { RunSignal } from './run-signal.js';
import { RunTelemetry } from './run-telemetry.js';
import { RunWakes } from './run-wakes.js';
import { RunsRepository } from './runs.repository.js';
import { RunsService } from './runs.service.js';
import { Staleness } from './staleness.js';
import { WaitingRetries } from './waiting-retries.js';

@Module({
  imports: [
    AgentsModule,
    AuthModule,
    EventsModule,
    MetricsModule,
    SessionsModule,
    TasksModule,
    WorkspacesModule,
  ],
  providers: [
    RunsRepository,
    ClaimsRepository,
    QueueHeads,
    RetriesRepository,
    RunGauges,
    RunHistory,
    RunTelemetry,
    RunSignal,
    RunInterrupts,
    RunNews,
    Staleness,
    ClaimTokens,
    ClaimPicker,
    ClaimIssuer,
    ClaimBlockersRepository,
    ClaimExplainer,
    RunLeases,
    RunSessions,
    RunWakes,
    FinalFailures,
    RunFailures,
    WaitingRetries,
    RunEndings,
    ClaimWaits,
    RunKeys,
    RunsService,
  ],
  exports: [
    RunsService,
    RunsRepository,
    ClaimsRepository,
    ClaimExplainer,
    RunEndings,
    RunHistory,
    RetriesRepository,
    FinalFailures,
    WaitingRetries,
    RunKeys,
    RunNews,
    RunSignal,
    RunInterrupts,
    Staleness,
  ],
})
export class RunsModule {}
