import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { ResumeSignal } from './resume-signal.js';
import { WorkspacesRepository } from './workspaces.repository.js';
import { WorkspacesService } from './workspaces.service.js';

@Module({
  imports: [EventsModule],
  providers: [ResumeSignal, WorkspacesRepository, WorkspacesService],
  exports: [ResumeSignal, WorkspacesRepository, WorkspacesService],
})
export class WorkspacesModule {}
