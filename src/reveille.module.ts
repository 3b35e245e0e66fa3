import { type DynamicModule, Global, Module } from '@nestjs/common';
import { AgentsModule } from './agents/agents.module.js';
import { Clock } from './clock/clock.js';
import { SystemClock } from './clock/system-clock.js';
import { DEFAULT_OPTIONS, type ReveilleOptions, REVEILLE_OPTIONS } from './config/options.js';
import { DatabaseModule } from './database/database.module.js';
import { REVEILLE_SCHEMA } from './entities.js';
import { HttpModule } from './http/http.module.js';
import { OfficeModule } from './office/office.module.js';
import { Ids } from './random/ids.js';
import { Randomness } from './random/randomness.js';
import { RunsModule } from './runs/runs.module.js';
import { SchedulerModule } from './scheduler/scheduler.module.js';
import { HOST_SESSION_STORE, type SessionStore } from './sessions/session-store.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { WorkerModule } from './worker/worker.module.js';
import { WorkspacesModule } from './workspaces/workspaces.module.js';

/** What everything below stands on: the options in force, the time, ids and randomness, and what a host brings along. */
@Global()
@Module({ providers: [Ids, Randomness], exports: [Ids, Randomness] })
class GroundModule {
  static with(options: ReveilleOptions, clock: Clock, sessionStore: SessionStore | null): DynamicModule {
    return {
      module: GroundModule,
      providers: [
        { provide: REVEILLE_OPTIONS, useValue: options },
        { provide: Clock, useValue: clock },
        { provide: HOST_SESSION_STORE, useValue: sessionStore },
      ],
      exports: [REVEILLE_OPTIONS, Clock, HOST_SESSION_STORE],
    };
  }
}

/** What an importing module may say; everything has a default. */
export type ReveilleModuleOptions = Partial<ReveilleOptions> & {
  /** Where the time comes from. Default: the machine's clock. */
  readonly clock?: Clock;
  /** A store of the host's own for sessions. Default: our table. */
  readonly sessionStore?: SessionStore;
};

/** The whole of Reveille, to be imported once. */
@Module({})
export class ReveilleModule {
  static forRoot({
    clock = new SystemClock(),
    sessionStore,
    ...options
  }: ReveilleModuleOptions = {}): DynamicModule {
    const complete: ReveilleOptions = { ...DEFAULT_OPTIONS, ...options };
    return {
      module: ReveilleModule,
      imports: [
        GroundModule.with(complete, clock, sessionStore ?? null),
        DatabaseModule.register(REVEILLE_SCHEMA),
        AgentsModule,
        WorkspacesModule,
        RunsModule,
        SchedulerModule,
        SessionsModule,
        OfficeModule,
        WorkerModule,
        ...(complete.http ? [HttpModule] : []),
      ],
      exports: [
        AgentsModule,
        RunsModule,
        SchedulerModule,
        SessionsModule,
        OfficeModule,
        WorkerModule,
        WorkspacesModule,
      ],
    };
  }
}
