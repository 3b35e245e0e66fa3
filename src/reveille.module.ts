import { type DynamicModule, Global, Module } from '@nestjs/common';
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
import { SessionsModule } from './sessions/sessions.module.js';
import { WorkerModule } from './worker/worker.module.js';

/** What everything below stands on: the options in force, the time, ids and randomness. */
@Global()
@Module({
  providers: [{ provide: Clock, useClass: SystemClock }, Ids, Randomness],
  exports: [Clock, Ids, Randomness],
})
class GroundModule {
  static with(options: ReveilleOptions): DynamicModule {
    return {
      module: GroundModule,
      providers: [{ provide: REVEILLE_OPTIONS, useValue: options }],
      exports: [REVEILLE_OPTIONS],
    };
  }
}

/** The whole of Reveille, to be imported once. */
@Module({})
export class ReveilleModule {
  static forRoot(options: Partial<ReveilleOptions> = {}): DynamicModule {
    const complete: ReveilleOptions = { ...DEFAULT_OPTIONS, ...options };
    return {
      module: ReveilleModule,
      imports: [
        GroundModule.with(complete),
        DatabaseModule.register(REVEILLE_SCHEMA),
        RunsModule,
        SchedulerModule,
        SessionsModule,
        OfficeModule,
        WorkerModule,
        ...(complete.http ? [HttpModule] : []),
      ],
      exports: [RunsModule, SchedulerModule, SessionsModule, OfficeModule, WorkerModule],
    };
  }
}
