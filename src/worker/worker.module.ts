import { Module } from '@nestjs/common';
import { DecisionsModule } from '../decisions/decisions.module.js';
import { EventsModule } from '../events/events.module.js';
import { OfficeModule } from '../office/office.module.js';
import { RunsModule } from '../runs/runs.module.js';
import { WorkspacesModule } from '../workspaces/workspaces.module.js';
import { AgentAccount } from './executors/agent-account.js';
import { CommandExecutor } from './executors/command.executor.js';
import { LeaseSweep } from './lease-sweep.js';
import { Retention } from './retention.js';
import { ServerAddress } from './server-address.js';
import { Sweeps } from './sweeps.service.js';
import { TurnRunner } from './turn-runner.js';
import { WorkerService } from './worker.service.js';

@Module({
  imports: [DecisionsModule, EventsModule, OfficeModule, RunsModule, WorkspacesModule],
  providers: [
    AgentAccount,
    CommandExecutor,
    ServerAddress,
    TurnRunner,
    WorkerService,
    LeaseSweep,
    Retention,
    Sweeps,
  ],
  exports: [ServerAddress, Sweeps],
})
export class WorkerModule {}
