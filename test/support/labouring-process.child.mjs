/**
 * A server of its own on a database that others use too, whose worker ends every run as soon as it has it. Sends `ready`
 * once it stands; asked to wake, it asks for those wakes, some at a time; asked to rest, it stops working when no run is
 * left, and answers.
 */
import { createRequire } from 'node:module';
import { NestFactory } from '@nestjs/core';

/** @typedef {import('../../src/scheduler/wake.js').WakeRequest} WakeRequest */
/** @typedef {{ wakes: WakeRequest[] } | { rest: true }} Orders */

const require = createRequire(import.meta.url);

/** What the build holds, typed by what it was built from: there may be no build yet when this file is checked. */
const { ReveilleModule, RunSignal, RunsService, SchedulerService, RunGauges } = {
  .../** @type {typeof import('../../src/reveille.module.js')} */ (
    require('../../dist/src/reveille.module.js')
  ),
  .../** @type {typeof import('../../src/runs/run-signal.js')} */ (
    require('../../dist/src/runs/run-signal.js')
  ),
  .../** @type {typeof import('../../src/runs/run-gauges.repository.js')} */ (
    require('../../dist/src/runs/run-gauges.repository.js')
  ),
  .../** @type {typeof import('../../src/runs/runs.service.js')} */ (
    require('../../dist/src/runs/runs.service.js')
  ),
  .../** @type {typeof import('../../src/scheduler/scheduler.service.js')} */ (
    require('../../dist/src/scheduler/scheduler.service.js')
  ),
};

/** How many wakes are under way at once. */
const CALLERS = 16;

/** How many runs one claim takes. */
const HANDS = 10;

const holder = { bearerTokenId: `process-${process.pid}` };

const app = await NestFactory.createApplicationContext(
  ReveilleModule.forRoot({ databaseUrl: process.argv[2] ?? '', migrate: false }),
);
const [scheduler, runs, signal, gauges] = [
  app.get(SchedulerService, { strict: false }),
  app.get(RunsService, { strict: false }),
  app.get(RunSignal, { strict: false }),
  app.get(RunGauges, { strict: false }),
];

let ended = 0;
let refused = 0;
let stopping = false;

/** Resolves at the next signal, or after a second. */
const hint = () =>
  new Promise((/** @type {(value: void) => void} */ resolve) => {
    const timer = setTimeout(resolve, 1000);
    const quiet = signal.listen(() => {
      clearTimeout(timer);
      quiet();
      resolve();
    });
  });

const labour = async () => {
  while (!stopping) {
    const heard = hint();
    const claims = await runs.claim({
      ...holder,
      workerId: holder.bearerTokenId,
      workspaceId: null,
      agentProfileIds: null,
      max: HANDS,
    });
    await Promise.all(
      claims.map(async ({ run, claimToken }) => {
        await runs.finish(run.id, { ...holder, claimToken }, {});
        ended += 1;
      }),
    );
    if (claims.length === 0) await heard;
  }
};

/** @param {WakeRequest[]} wakes */
const wake = async (wakes) => {
  const left = [...wakes];
  const call = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { admitted, outcome } = await scheduler.queueRun(next);
      if (!admitted && outcome !== 'coalesced') refused += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
};

const rest = async () => {
  for (;;) {
    const heard = hint();
    const { queued, claimed } = await gauges.counts();
    if (queued + claimed === 0) break;
    await heard;
  }
  stopping = true;
  // The last end may be known to the database before it is known here.
  await labouring;
};

/** @param {Orders} orders */
const carryOut = async (orders) => {
  await ('rest' in orders ? rest() : wake(orders.wakes));
  return { ended, refused };
};

const labouring = labour();

process.on('message', (/** @type {Orders} */ orders) => {
  carryOut(orders).then(
    (answer) => process.send?.(answer),
    (/** @type {unknown} */ error) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => {
  stopping = true;
  void labouring.then(() => app.close());
});
process.send?.({ ready: true });
