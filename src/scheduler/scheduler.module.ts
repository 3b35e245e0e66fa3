import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { DecisionsModule } from '../decisions/decisions.module.js';
import { EventsModule } from '../events/events.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { Admission } from './admission.js';
import { AdmissionLocks } from './admission-locks.js';
import { ADMISSION_ORDER, admissionGates } from './admission-order.js';
import { AdmissionReports } from './admission-reports.js';
import { AdmissionTelemetry } from './admission-telemetry.js';
import { Explainer } from './explainer.js';
import { RunQueue } from './run-queue.js';
import { RunRetries } from './run-retries.js';
import { SchedulerService } from './scheduler.service.js';
import { StandingGates } from './standing-gates.js';
import { StepwiseFacts } from './stepwise-facts.js';

@Module({
  imports: [AgentsModule, DecisionsModule, EventsModule, MetricsModule, RunsModule, WorkspacesModule],
  providers: [
    ...ADMISSION_ORDER,
    admissionGates,
    Admission,
    AdmissionLocks,
    AdmissionTelemetry,
    AdmissionReports,
    Explainer,
    StepwiseFacts,
    RunQueue,
    StandingGates,
    RunRetries,
    SchedulerService,
  ],
  exports: [SchedulerService, RunRetries, AdmissionTelemetry],
})
export class SchedulerModule {}
