import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { EventsModule } from '../events/events.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { SchedulerModule } from '../scheduler/scheduler.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { AgentErrors } from './agent-errors.js';
import { AgentRemoval } from './agent-removal.service.js';
import { AutoStartService } from './auto-start.service.js';
import { BlockersService } from './blockers.service.js';
import { CommentsService } from './comments.service.js';
import { Handover } from './handover.js';
import { OnboardingService } from './onboarding.service.js';
import { ParticipantsService } from './participants.service.js';
import { Cascades } from './reactivity/cascades.js';
import { NoteBook } from './reactivity/note-book.js';
import { NoteSweep } from './reactivity/note-sweep.js';
import { NoteTelemetry } from './reactivity/note-telemetry.js';
import { NotesRepository } from './reactivity/notes.repository.js';
import { Reactivity } from './reactivity/reactivity.service.js';
import { WhatItWakes } from './reactivity/what-it-wakes.js';
import { RecoveriesRepository } from './recovery/recoveries.repository.js';
import { RecoverySweep } from './recovery/recovery-sweep.js';
import { TaskCreations } from './task-creations.js';
import { TaskMutations } from './task-mutations.js';
import { TasksService } from './tasks.service.js';

/** What stands behind the services: nobody else asks for it. */
const INNER = [
  NotesRepository,
  NoteBook,
  NoteTelemetry,
  Cascades,
  Reactivity,
  WhatItWakes,
  Handover,
  TaskCreations,
  TaskMutations,
  RecoveriesRepository,
  AgentErrors,
];

const SERVICES = [
  TasksService,
  CommentsService,
  ParticipantsService,
  BlockersService,
  AutoStartService,
  OnboardingService,
  AgentRemoval,
  NoteSweep,
  RecoverySweep,
];

@Module({
  imports: [
    AgentsModule,
    AuthModule,
    EventsModule,
    MetricsModule,
    RunsModule,
    SchedulerModule,
    SessionsModule,
    TasksModule,
    WorkspacesModule,
  ],
  providers: [...INNER, ...SERVICES],
  exports: SERVICES,
})
export class OfficeModule {}
