import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { EventsModule } from '../events/events.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { SchedulerModule } from '../scheduler/scheduler.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { Handover } from './handover.js';
import { ParticipantsService } from './participants.service.js';
import { NotesRepository } from './reactivity/notes.repository.js';
import { Reactivity } from './reactivity/reactivity.service.js';
import { TasksService } from './tasks.service.js';

@Module({
  imports: [
    AgentsModule,
    EventsModule,
    RunsModule,
    SchedulerModule,
    SessionsModule,
    TasksModule,
    WorkspacesModule,
  ],
  providers: [NotesRepository, Reactivity, Handover, ParticipantsService, TasksService],
  exports: [ParticipantsService, TasksService, Reactivity],
})
export class OfficeModule {}
