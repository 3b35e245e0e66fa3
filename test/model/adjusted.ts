import type { TestingModuleBuilder } from '@nestjs/testing';
import { Clock } from '../../src/clock/clock.js';
import { LeaseClock } from '../../src/database/lease-clock.js';
import { withoutGauges } from './counters.js';

/** Leases are judged by the clock that the test moves, on PostgreSQL too, whose own clock nobody can move. */
export function adjusted(builder: TestingModuleBuilder): TestingModuleBuilder {
  return withoutGauges(builder)
    .overrideProvider(LeaseClock)
    .useFactory({
      factory: (clock: Clock) => ({ now: () => Promise.resolve(clock.now()) }),
      inject: [Clock],
    });
}
