/**
 * A server of its own with callers of its own, on a database that others may use too. Sends `ready` once it stands, then
 * answers each crowd with what became of its callers. It counts their attempts to create where they are made, and ends
 * sessions between a refusal and the reading after it, which is when their callers are the most easily misled.
 */
import { createRequire } from 'node:module';
import { NestFactory } from '@nestjs/core';

/** @typedef {import('./crowd-process.js').CrowdedPair} CrowdedPair */
/** @typedef {import('./crowd-process.js').CrowdCall} CrowdCall */
/** @typedef {{ name: string, callers: number, pairs: CrowdedPair[] }} Orders */
/** @typedef {{ attempts: number, refusals: number }} Tries */

const require = createRequire(import.meta.url);

/** What the build holds, typed by what it was built from: there may be no build yet when this file is checked. */
const { FakeClock, ReveilleModule, SessionsService, OfficeSessionCreator, MetricsService } = {
  .../** @type {typeof import('../../src/testing.js')} */ (require('../../dist/src/testing.js')),
  .../** @type {typeof import('../../src/reveille.module.js')} */ (
    require('../../dist/src/reveille.module.js')
  ),
  .../** @type {typeof import('../../src/sessions/sessions.service.js')} */ (
    require('../../dist/src/sessions/sessions.service.js')
  ),
  .../** @type {typeof import('../../src/sessions/office-session-creator.js')} */ (
    require('../../dist/src/sessions/office-session-creator.js')
  ),
  .../** @type {typeof import('../../src/metrics/metrics.service.js')} */ (
    require('../../dist/src/metrics/metrics.service.js')
  ),
};

const app = await NestFactory.createApplicationContext(
  ReveilleModule.forRoot({ databaseUrl: process.argv[2] ?? '', clock: new FakeClock() }),
);
const sessions = app.get(SessionsService, { strict: false });
const creator = app.get(OfficeSessionCreator, { strict: false });
const metrics = app.get(MetricsService, { strict: false });

const instant = () => Number(process.hrtime.bigint() / 1000n);

/** The callers of one pair in this process. */
class Crowd {
  /** @type {Map<string, Tries>} */
  tries = new Map();
  /** @type {{ id: string, began: number, ended: number }[]} */
  endings = [];
  /** @type {(() => void)[]} */
  held = [];
  isSpent = false;

  /**
   * @param {CrowdedPair} pair
   * @param {number} underWay callers that are neither refused nor served
   */
  constructor(pair, underWay) {
    this.pair = pair;
    this.underWay = underWay;
  }

  /** @param {string} caller */
  triesOf(caller) {
    const tries = this.tries.get(caller) ?? { attempts: 0, refusals: 0 };
    this.tries.set(caller, tries);
    return tries;
  }

  /** Between the refusal of a caller and its reading. */
  async refused() {
    if (this.pair.ending === 'often') await this.endBlocker();
    if (this.pair.ending !== 'once' || this.isSpent) return;
    const released = new Promise((resolve) => {
      this.held.push(() => {
        resolve(undefined);
      });
    });
    await this.arrived();
    await released;
  }

  /** One more caller is served or refused for the first time; with the last one, whatever is live ends. */
  async arrived() {
    this.underWay -= 1;
    if (this.pair.ending !== 'once' || this.underWay > 0 || this.isSpent) return;
    this.isSpent = true;
    try {
      if (this.held.length > 0) await this.endBlocker();
    } finally {
      for (const release of this.held) release();
    }
  }

  async endBlocker() {
    const live = await sessions.find(this.pair);
    if (live === null) return;
    const began = instant();
    const ended = await sessions.setState(live.id, 'COMPLETED').catch(() => null);
    if (ended !== null) this.endings.push({ id: live.id, began, ended: instant() });
  }
}

/** @type {Map<string, Crowd>} */
const crowds = new Map();

/** @param {{ taskId: string, agentProfileId: string | null }} pair */
const keyOf = ({ taskId, agentProfileId }) => `${taskId} ${agentProfileId ?? ''}`;

const create = creator.create.bind(creator);
creator.create = async (/** @type {Parameters<typeof create>[0]} */ wanted) => {
  const crowd = crowds.get(keyOf(wanted));
  const tries = crowd?.triesOf(wanted.executorId ?? '');
  if (crowd === undefined || tries === undefined) return create(wanted);
  tries.attempts += 1;
  try {
    return await create(wanted);
  } catch (error) {
    if (error instanceof Error && error.name === 'OfficeSessionRaceConflict') {
      tries.refusals += 1;
      await crowd.refused();
    }
    throw error;
  }
};

/**
 * @param {Crowd} crowd
 * @param {string} caller
 * @returns {Promise<CrowdCall>}
 */
const call = async (crowd, caller) => {
  const { taskId, agentProfileId } = crowd.pair;
  const began = instant();
  const known = { taskId, agentProfileId, caller, began };
  const request = { taskId, agentProfileId, executionProfileId: 'profile', executorId: caller };
  /** @returns {Promise<Pick<CrowdCall, 'id' | 'created' | 'error'>>} */
  const ask = async () => {
    try {
      const { session, created } = await sessions.ensure(request);
      return { id: session.id, created, error: null };
    } catch (error) {
      return { id: null, created: false, error: String(error) };
    }
  };
  const answer = await ask();
  const answered = instant();
  // A caller that was held has been counted as it was refused.
  if (crowd.triesOf(caller).refusals === 0) await crowd.arrived();
  return { ...known, answered, ...crowd.triesOf(caller), ...answer };
};

/** @param {Orders} orders */
const carryOut = async ({ name, callers, pairs }) => {
  crowds.clear();
  for (const pair of pairs) crowds.set(keyOf(pair), new Crowd(pair, callers));
  const all = [...crowds.values()];
  const names = Array.from({ length: callers }, (_, number) => `${name}-${number}`);
  // Caller by caller, so that the pairs are crowded at the same time too.
  const calls = await Promise.all(names.flatMap((caller) => all.map((crowd) => call(crowd, caller))));
  return { calls, endings: all.flatMap(({ endings }) => endings), metrics: await metrics.text() };
};

process.on('message', (/** @type {Orders} */ orders) => {
  carryOut(orders).then(
    (report) => process.send?.(report),
    (/** @type {unknown} */ error) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => {
  void app.close();
});
process.send?.({ ready: true });
