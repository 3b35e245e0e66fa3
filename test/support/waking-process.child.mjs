/**
 * A server of its own on a database that others use too. Sends `ready` once it stands, then answers each list of wakes
 * with what became of them, all asked for at once.
 */
import { createRequire } from 'node:module';
import { NestFactory } from '@nestjs/core';

/** @typedef {import('../../src/scheduler/wake.js').WakeRequest} WakeRequest */
/** @typedef {{ now: number, wakes: WakeRequest[] }} Orders */

const require = createRequire(import.meta.url);

/** What the build holds, typed by what it was built from: there may be no build yet when this file is checked. */
const { FakeClock, ReveilleModule, SchedulerService } = {
  .../** @type {typeof import('../../src/testing.js')} */ (require('../../dist/src/testing.js')),
  .../** @type {typeof import('../../src/reveille.module.js')} */ (
    require('../../dist/src/reveille.module.js')
  ),
  .../** @type {typeof import('../../src/scheduler/scheduler.service.js')} */ (
    require('../../dist/src/scheduler/scheduler.service.js')
  ),
};

const clock = new FakeClock();
const app = await NestFactory.createApplicationContext(
  ReveilleModule.forRoot({ databaseUrl: process.argv[2] ?? '', migrate: false, clock }),
);
const scheduler = app.get(SchedulerService, { strict: false });

/** @param {Orders} orders */
const carryOut = async ({ now, wakes }) => {
  clock.set(now);
  return Promise.all(wakes.map((wake) => scheduler.queueRun(wake)));
};

process.on('message', (/** @type {Orders} */ orders) => {
  carryOut(orders).then(
    (decisions) => process.send?.({ decisions }),
    (/** @type {unknown} */ error) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => {
  void app.close();
});
process.send?.({ ready: true });
