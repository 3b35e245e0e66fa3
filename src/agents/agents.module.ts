import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';

@Module({
  imports: [WorkspacesModule],
  providers: [AgentsRepository, AgentsService],
  exports: [AgentsRepository, AgentsService],
})
export class AgentsModule {}
