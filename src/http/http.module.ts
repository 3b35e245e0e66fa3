import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { AgentsModule } from '../agents/agents.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { DecisionsModule } from '../decisions/decisions.module.js';
import { OfficeModule } from '../office/office.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { SchedulerModule } from '../scheduler/scheduler.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { AgentsController } from './agents.controller.js';
import { AuthGuard } from './auth/auth.guard.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { BlockersController } from './blockers.controller.js';
import { ClaimsController } from './claims.controller.js';
import { CommentsController } from './comments.controller.js';
import { DecisionsController } from './decisions.controller.js';
import { HealthController } from './health.controller.js';
import { InputPipe } from './input.pipe.js';
import { MetricsController } from './metrics.controller.js';
import { ParticipantsController } from './participants.controller.js';
import { ProblemFilter } from './problem.filter.js';
import { Problems } from './problems.js';
import { Readiness } from './readiness.js';
import { RunsController } from './runs.controller.js';
import { SessionsController } from './sessions.controller.js';
import { TasksController } from './tasks.controller.js';
import { TaskSessionsController } from './task-sessions.controller.js';
import { TokensController } from './tokens.controller.js';
import { WakeRequests } from './wake-requests.js';
import { WakesController } from './wakes.controller.js';
import { WorkspacesController } from './workspaces.controller.js';

@Module({
  imports: [
    AgentsModule,
    AuthModule,
    DecisionsModule,
    OfficeModule,
    RunsModule,
    SchedulerModule,
    SessionsModule,
    WorkspacesModule,
    TerminusModule.forRoot({ logger: false }),
    // Its default metrics live in one registry for the whole process, which two instances would share.
    PrometheusModule.registerAsync({
      controller: MetricsController,
      imports: [MetricsModule],
      useFactory: () => ({ defaultMetrics: { enabled: false } }),
    }),
  ],
  controllers: [
    WorkspacesController,
    TokensController,
    AgentsController,
    TasksController,
    ParticipantsController,
    BlockersController,
    CommentsController,
    WakesController,
    DecisionsController,
    ClaimsController,
    RunsController,
    TaskSessionsController,
    SessionsController,
    HealthController,
  ],
  providers: [
    VisibleTasks,
    Readiness,
    Problems,
    WakeRequests,
    { provide: APP_PIPE, useClass: InputPipe },
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_FILTER, useClass: ProblemFilter },
  ],
})
export class HttpModule {}
