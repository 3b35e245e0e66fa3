import fc from 'fast-check';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { pick } from '../support/pick.js';
import type { Run } from '../../src/runs/run.schema.js';
import {
  DELAYS_MS,
  type DueBetween,
  type LivesModel,
  type ModelFailure,
  type ModelRun,
} from './lives-model.js';
import type { LivesWorld, Report } from './lives-world.js';

export const AGENTS = 3;

/** What a step is done to. */
interface Both {
  readonly model: LivesModel;
  readonly world: LivesWorld;
}

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
const DAY_MS = 24 * 60 * MINUTE_MS;

const agents = fc.nat(AGENTS - 1);
const workers = fc.constantFrom('w1', 'w2');

export async function queue(agent: number, reason: string, { model, world }: Both): Promise<void> {
  await world.queue(model.queue(agent, reason, world.now));
}

const wakes = fc
  .tuple(agents, fc.constantFrom('hello', 'hello', 'other'))
  .map(
    ([agent, reason]) =>
      new Command(`wake(${agent}, ${reason})`, (model, world) => queue(agent, reason, { model, world })),
  );

const claims = fc
  .tuple(workers, fc.integer({ min: 1, max: AGENTS }))
  .map(
    ([worker, max]) =>
      new Command(`claim(${worker}, ${max})`, (model, world) => claimBoth(worker, max, { model, world })),
  );

async function claimBoth(worker: string, max: number, { model, world }: Both): Promise<void> {
  const expected = model.claim(max, world.now).map(({ number }) => number);
  const actual = await world.claim(worker, max);
  expect([...actual].sort()).toEqual(expected.sort());
}

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

const failing = ({ isRetryable, resetSeconds }: { isRetryable: boolean; resetSeconds: number | null }) => {
  const failure: ModelFailure = {
    error: resetSeconds === null ? 'an error' : `Too many requests. Retry-After: ${resetSeconds}`,
    isRetryable,
    resetMs: resetSeconds === null ? null : resetSeconds * 1000,
  };
  return aboutHeld('fail', async (run, model, world) => {
    const wasClaimed = run.status === 'claimed';
    const between = model.fail(run, failure, world.now);
    const report = world.report(run, 'fail', failure);
    await expectTaken(wasClaimed, run, report);
    if (between !== null) run.dueAt = dueIn(between, (await report) as Run);
  });
};

/** Nobody can foretell the jitter, only its bounds. */
function dueIn({ earliest, latest }: DueBetween, { scheduledRetryAt }: Run): number {
  expect(scheduledRetryAt).toBeGreaterThanOrEqual(earliest);
  expect(scheduledRetryAt).toBeLessThanOrEqual(latest);
  return scheduledRetryAt ?? earliest;
}

const failures = fc
  .record({
    isRetryable: fc.constantFrom(true, true, true, false),
    resetSeconds: fc.option(fc.constantFrom(1, 90, 5 * 3600), { freq: 3, nil: null }),
  })
  .chain(failing);

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

const advances = fc
  .constantFrom(1, LEASE_MS - 1, LEASE_MS, LEASE_MS + 1, DELAYS_MS[0], DAY_MS - MINUTE_MS, DAY_MS)
  .map(
    (milliseconds) =>
      new Command(`advance(${milliseconds})`, (_model, world) => {
        world.reveille.clock.advance(milliseconds);
        return Promise.resolve();
      }),
  );

/** Up to the moment at which a run is tried again, or just before it. */
const dues = fc.tuple(fc.nat(AGENTS), fc.constantFrom(-1, 0, 0)).map(
  ([place, step]) =>
    new Command(
      `until due(${place}, ${step})`,
      (model, world) => {
        const waiting = waitingIn(model, world.now);
        if (waiting.length > 0) world.reveille.clock.set(pick(waiting, place % waiting.length) + step);
        return Promise.resolve();
      },
      (model) => waitingIn(model, 0).length > 0,
    ),
);

function waitingIn(model: Readonly<LivesModel>, now: number): readonly number[] {
  return model.runs.flatMap(({ status, dueAt }) =>
    status === 'queued' && dueAt !== null && dueAt > now + 1 ? [dueAt] : [],
  );
}

/** A run of the first agent is tried as often as it may be, if anything is left of it. */
const stubborn = fc.integer({ min: 2, max: 5 }).map(
  (count) =>
    new Command(`fail ${count} times`, async (model, world) => {
      for (let turn = 0; turn < count; turn++) {
        await claimBoth('w1', 1, { model, world });
        const run = model.held[0];
        if (run?.status !== 'claimed') return;
        const failure = { error: 'again', isRetryable: true, resetMs: null };
        const between = model.fail(run, failure, world.now);
        const answer = (await world.report(run, 'fail', failure)) as Run;
        if (between === null) return;
        run.dueAt = dueIn(between, answer);
        world.reveille.clock.set(run.dueAt);
      }
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
        await claimBoth('w1', 1, { model, world });
        world.reveille.clock.advance(LEASE_MS + 1);
        await sweep(model, world);
      }
    }),
);

const switches = fc.option(agents, { freq: 3 }).map((agent) =>
  agent === null
    ? new Command('switch(workspace)', async (model, world) => {
        model.switchPause(world.now);
        await world.setPaused(model.pausedSince !== null);
      })
    : new Command(`switch(agent ${agent})`, async (model, world) => {
        const isRunnable = model.runnable[agent] !== true;
        model.runnable[agent] = isRunnable;
        await world.setRunnable(agent, isRunnable);
      }),
);

export const livesCommands: fc.Arbitrary<fc.AsyncCommand<LivesModel, LivesWorld>>[] = [
  ...[wakes, wakes, claims, claims, claims, claims, heartbeats, heartbeats, finishes, finishes],
  ...[failures, failures, failures, dues, dues, stubborn, releases],
  ...[drains, cancellations, cancellations, advances, expiries, expiries, misfortunes, switches, switches],
];

async function expectTaken(isTaken: boolean, { number }: ModelRun, report: Promise<unknown>): Promise<void> {
  const answer = await report;
  if (isTaken)
    expect(answer).toMatchObject({ id: expect.stringMatching(new RegExp(`-${number}$`)) as string });
  else expect(answer).toBe('claim_lost');
}
