/** Reveille as a library inside this process, on a database of the caller's choice, with all its defaults. */
import { createRequire } from 'node:module';
import { NestFactory } from '@nestjs/core';
import { Logger, LoggerModule } from 'nestjs-pino';

/** @typedef {import('../src/scheduler/wake.js').WakeRequest} WakeRequest */
/** @typedef {import('../src/scheduler/decision.js').Decision} Decision */
/** @typedef {import('pino').DestinationStream} Log */

/**
 * @typedef {object} Reveille
 * @property {readonly string[]} agents
 * @property {(wake: WakeRequest) => Promise<Decision>} queueRun
 * @property {(table: string) => Promise<number>} countRows
 */

/** @typedef {Awaited<ReturnType<typeof NestFactory.createApplicationContext>>} App */

const require = createRequire(import.meta.url);

/** Nothing may be logged before the logger is there: until then Nest writes to stdout. */
const START = { bufferLogs: true, autoFlushLogs: false, abortOnError: false };

/**
 * Does the work with a Reveille that has an office of so many agents, all of them idle.
 *
 * @template T
 * @param {{ databaseUrl: string, log: Log, agents: number }} wanted
 * @param {(reveille: Reveille) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withReveille({ databaseUrl, log, agents }, work) {
  const app = await NestFactory.createApplicationContext(
    serviceWith(databaseUrl, log),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares its options as a class but takes a plain object
    START,
  );
  try {
    app.useLogger(app.get(Logger));
    app.flushLogs();
    return await work(await openOffice(app, agents));
  } finally {
    await app.close();
  }
}

/**
 * What the stand-alone service is made of, without HTTP and agents, as a library has it by default. The logger is that
 * of the service at its own level, but for where it writes: stdout is for figures.
 *
 * @param {string} databaseUrl
 * @param {Log} log
 */
function serviceWith(databaseUrl, log) {
  const { AppModule, Clock, ReveilleModule } = built();
  const began = Date.now();
  /** So slow that a wake finds what it is to be merged with however slow the machine is; nothing here is timed by it. */
  class SlowClock extends Clock {
    now() {
      return began + Math.floor((Date.now() - began) / 100);
    }
  }
  return {
    module: AppModule,
    imports: [
      LoggerModule.forRoot({ pinoHttp: [{ level: 'info' }, log] }),
      ReveilleModule.forRoot({ databaseUrl, clock: new SlowClock() }),
    ],
  };
}

/**
 * @param {App} app
 * @param {number} agentCount
 * @returns {Promise<Reveille>}
 */
async function openOffice(app, agentCount) {
  const { SchedulerService, Transactions } = built();
  const scheduler = app.get(SchedulerService, { strict: false });
  const transactions = app.get(Transactions, { strict: false });
  return {
    agents: await transactions.run(() => hire(app, agentCount)),
    queueRun: (wake) => scheduler.queueRun(wake),
    countRows: async (table) => {
      const statement = `SELECT count(*) AS count FROM ${table}`;
      const [row] = /** @type {{ count: string | number }[]} */ (
        await transactions.reading().query(statement)
      );
      return Number(row?.count);
    },
  };
}

/**
 * @param {App} app
 * @param {number} count
 */
async function hire(app, count) {
  const { aWorkspace, anAgent } = built();
  const { id: workspaceId } = await aWorkspace(app);
  const ids = [];
  while (ids.length < count) ids.push((await anAgent(app, workspaceId)).id);
  return ids;
}

/** Loaded only when asked for: this file is read before there is a build. */
function built() {
  return {
    .../** @type {typeof import('../src/clock/clock.js')} */ (require('../dist/src/clock/clock.js')),
    .../** @type {typeof import('../src/app.module.js')} */ (require('../dist/src/app.module.js')),
    .../** @type {typeof import('../src/reveille.module.js')} */ (require('../dist/src/reveille.module.js')),
    .../** @type {typeof import('../src/database/transactions.js')} */ (
      require('../dist/src/database/transactions.js')
    ),
    .../** @type {typeof import('../src/scheduler/scheduler.service.js')} */ (
      require('../dist/src/scheduler/scheduler.service.js')
    ),
    .../** @type {typeof import('../src/testing.js')} */ (require('../dist/src/testing.js')),
  };
}
