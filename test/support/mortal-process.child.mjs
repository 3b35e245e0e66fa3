/**
 * A server that does one thing to a task and dies of it: at the statement and the moment that its order names, by the
 * signal that nothing can catch. It loads everything first, so that its order is all it waits for once it is `ready`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import sqlite3 from 'sqlite3';

/** @import { Death, Order, Sent } from './mortal-process.js' */

const require = createRequire(import.meta.url);

/** What the build holds, typed by what it was built from: there may be no build yet when this file is checked. */
const { EventSequencer, FakeClock, ReveilleModule, TasksService } = {
  .../** @type {typeof import('../../src/testing.js')} */ (require('../../dist/src/testing.js')),
  .../** @type {typeof import('../../src/reveille.module.js')} */ (
    require('../../dist/src/reveille.module.js')
  ),
  .../** @type {typeof import('../../src/events/event-sequencer.js')} */ (
    require('../../dist/src/events/event-sequencer.js')
  ),
  .../** @type {typeof import('../../src/office/tasks.service.js')} */ (
    require('../../dist/src/office/tasks.service.js')
  ),
};

/** Which of the two a statement belongs to; none that is sent before the order is carried out belongs to either. */
const strand = /** @type {AsyncLocalStorage<keyof Sent>} */ (new AsyncLocalStorage());

/** @type {Record<keyof Sent, string[]>} */
const sent = { mutation: [], numbering: [] };

/** @type {Death | null} */
let death = null;

/** @param {string} sql */
function die(sql) {
  // Into the pipe at once: nothing that is written later leaves this process.
  writeSync(1, sql);
  process.kill(process.pid, 'SIGKILL');
}

/**
 * Counts a statement and answers when in its life this process is to die, or null.
 *
 * @param {string} sql
 */
function fateOf(sql) {
  const own = strand.getStore();
  // Hints to other processes are gathered and sent in their own time, at no fixed place among the statements.
  if (own === undefined || sql.startsWith('SELECT pg_notify')) return null;
  const number = sent[own].push(sql);
  return death?.strand === own && death.statement === number ? death.moment : null;
}

/**
 * Below everything of ours and of TypeORM's: what passes here is what the database is sent.
 *
 * @param {{ prototype: object }} driver
 * @param {string} method
 */
function divert({ prototype }, method) {
  const { [method]: send } = /** @type {Record<string, (...statement: unknown[]) => unknown>} */ (prototype);
  if (send === undefined) throw new Error(`The driver has no ${method}.`);
  Reflect.set(
    prototype,
    method,
    /** @this {unknown} @param {unknown[]} statement */ function (...statement) {
      const sql = String(statement[0]);
      const fate = fateOf(sql);
      if (fate === 'before') die(sql);
      const end = () => {
        die(sql);
      };
      const answer = /** @type {unknown} */ (
        send.apply(this, fate === 'after' ? answeredBy(end, statement) : statement)
      );
      if (fate === 'during') end();
      return fate === 'after' && answer instanceof Promise ? answer.then(end) : answer;
    },
  );
}

/**
 * SQLite's driver answers through a callback, PostgreSQL's by a promise.
 *
 * @param {() => void} end
 * @param {unknown[]} statement
 */
function answeredBy(end, statement) {
  return statement.map((argument) => (typeof argument === 'function' ? end : argument));
}

/** @param {Order} order */
async function carryOut(order) {
  // The last words are to stand alone where all but errors would be logged.
  Logger.overrideLogger(['error']);
  const clock = new FakeClock();
  clock.set(order.now);
  const app = await NestFactory.createApplicationContext(
    ReveilleModule.forRoot({ databaseUrl: order.databaseUrl, migrate: false, clock }),
  );
  divert(sqlite3.Database, 'run');
  divert(sqlite3.Database, 'all');
  divert(pg.Client, 'query');
  const sequencer = app.get(EventSequencer, { strict: false });
  const request = sequencer.request.bind(sequencer);
  // Events are numbered beside the mutation, at no fixed place among its statements, and are counted by themselves.
  sequencer.request = () => {
    strand.run('numbering', request);
  };
  death = order.death;
  const { taskId, changes, actor } = order;
  await strand.run('mutation', () => app.get(TasksService, { strict: false }).update(taskId, changes, actor));
  await strand.run('numbering', () => sequencer.catchUp());
  process.send?.({ sent });
  await app.close();
  process.disconnect();
}

process.once('message', (/** @type {Order} */ order) => {
  void carryOut(order);
});
process.send?.({ ready: true });
