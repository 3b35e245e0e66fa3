import fc from 'fast-check';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { pick } from '../support/pick.js';
import type { LivesModel, ModelRun } from './lives-model.js';
import { ERROR, type LivesWorld, type Report } from './lives-world.js';

export const AGENTS = 3;

type Step = (model: LivesModel, world: LivesWorld) => Promise<void>;

/** Something that is done to the model and to the world, which are compared after it. */
class Command implements fc.AsyncCommand<LivesModel, LivesWorld> {
  constructor(
    private readonly words: string,
    private readonly step: Step,
    private readonly isPossible: (model: Readonly<LivesModel>) => boolean = () => true,
  ) {}

  check(model: Readonly<LivesModel>): boolean {
    return this.isPossible(model);
  }

  async run(model: LivesModel, world: LivesWorld): Promise<void> {
    await this.step(model, world);
    await world.expectEqual(model);
  }

  toString(): string {
    return this.words;
  }
}

const LEASE_MS = 30_000;
const MINUTE_MS = 60_000;

const agents = fc.nat(AGENTS - 1);
const workers = fc.constantFrom('w1', 'w2');

export async function queue(agent: number, model: LivesModel, world: LivesWorld): Promise<void> {
  await world.queue(model.queue(agent, world.now));
}

const wakes = agents.map(
  (agent) => new Command(`wake(${agent})`, (model, world) => queue(agent, model, world)),
);

const claims = fc.tuple(workers, fc.integer({ min: 1, max: AGENTS })).map(
  ([worker, max]) =>
    new Command(`claim(${worker}, ${max})`, async (model, world) => {
      const expected = model.claim(max, world.now).map(({ number }) => number);
      const actual = await world.claim(worker, max);
      expect([...actual].sort()).toEqual(expected.sort());
    }),
);

/** Somebody says something of one of the runs that are held. */
const aboutHeld = (
  what: Report,
  step: (run: ModelRun, model: LivesModel, world: LivesWorld) => Promise<void>,
) =>
  fc.nat(AGENTS - 1).map(
    (place) =>
      new Command(
        `${what}(${place})`,
        (model, world) => step(pick(model.held, place % model.held.length), model, world),
        (model) => model.held.length > 0,
      ),
  );

const heartbeats = aboutHeld('heartbeat', async (run, model, world) => {
  const { leaseExpiresAt, stopReason } = model.heartbeat(run, world.now);
  expect(await world.report(run, 'heartbeat')).toEqual({
    leaseExpiresAt,
    stop: stopReason !== null,
    stopReason,
  });
});

const finishes = aboutHeld('finish', (run, model, world) => {
  const isTaken = model.finish(run, world.now);
  return expectTaken(isTaken, run, world.report(run, 'finish'));
});

const failures = aboutHeld('fail', (run, model, world) => {
  const isTaken = model.fail(run, ERROR, world.now);
  return expectTaken(isTaken, run, world.report(run, 'fail'));
});

const releases = aboutHeld('release', (run, model, world) => {
  const isTaken = model.release(run);
  return expectTaken(isTaken, run, world.report(run, 'release'));
});

/** A worker stops and puts back whatever it holds. */
const drains = fc.constant(
  new Command(
    'drain',
    async (model, world) => {
      for (const run of model.held) {
        const isTaken = model.release(run);
        await expectTaken(isTaken, run, world.report(run, 'release'));
      }
    },
    (model) => model.held.length > 0,
  ),
);

const cancellations = fc.nat(9).map(
  (place) =>
    new Command(
      `cancel(${place})`,
      async (model, world) => {
        const run = pick(model.runs, place % model.runs.length);
        const isTaken = model.cancel(run, 'a reason', world.now);
        const answer = await world.cancel(run, 'a reason');
        expect(answer).toEqual(
          isTaken ? expect.objectContaining({ status: 'cancelled' }) : 'illegal_transition',
        );
      },
      (model) => model.runs.length > 0,
    ),
);

async function sweep(model: LivesModel, world: LivesWorld): Promise<void> {
  await world.reveille.get(Sweeps).sweep();
  for (const run of model.takeBack(world.now)) world.loses(run);
}

const advances = fc.constantFrom(1, LEASE_MS - 1, LEASE_MS, LEASE_MS + 1, 2 * MINUTE_MS).map(
  (milliseconds) =>
    new Command(`advance(${milliseconds})`, (_model, world) => {
      world.reveille.clock.advance(milliseconds);
      return Promise.resolve();
    }),
);

/** Up to the very end of a lease that begins now, and past it. */
const expiries = fc.constantFrom(LEASE_MS, LEASE_MS + 1).map(
  (milliseconds) =>
    new Command(`expire(${milliseconds})`, (model, world) => {
      world.reveille.clock.advance(milliseconds);
      return sweep(model, world);
    }),
);

/** Its workers are lost one after the other. */
const misfortunes = fc.integer({ min: 2, max: 5 }).map(
  (count) =>
    new Command(`lose ${count} workers`, async (model, world) => {
      for (let lost = 0; lost < count; lost++) {
        model.claim(1, world.now);
        await world.claim('w1', 1);
        world.reveille.clock.advance(LEASE_MS + 1);
        await sweep(model, world);
      }
    }),
);

const switches = fc.option(agents, { freq: 3 }).map((agent) =>
  agent === null
    ? new Command('switch(workspace)', async (model, world) => {
        model.isPaused = !model.isPaused;
        await world.setPaused(model.isPaused);
      })
    : new Command(`switch(agent ${agent})`, async (model, world) => {
        const isRunnable = model.runnable[agent] !== true;
        model.runnable[agent] = isRunnable;
        await world.setRunnable(agent, isRunnable);
      }),
);

export const livesCommands: fc.Arbitrary<fc.AsyncCommand<LivesModel, LivesWorld>>[] = [
  ...[wakes, wakes, claims, claims, claims, claims, heartbeats, heartbeats, finishes, failures, releases],
  ...[drains, cancellations, cancellations, advances, expiries, expiries, misfortunes, switches, switches],
];

async function expectTaken(isTaken: boolean, { number }: ModelRun, report: Promise<unknown>): Promise<void> {
  const answer = await report;
  if (isTaken)
    expect(answer).toMatchObject({ id: expect.stringMatching(new RegExp(`-${number}$`)) as string });
  else expect(answer).toBe('claim_lost');
}
