import fc from 'fast-check';
import { ReveilleError } from '../../src/errors/reveille-error.js';
import type { Decision } from '../../src/scheduler/decision.js';
import {
  ALLOWANCE_LIMIT,
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
  IDEMPOTENCY_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';
import type { AdmissionModel, Expected, ModelPayload, ModelWake } from './admission-model.js';
import type { AdmissionWorld } from './admission-world.js';

export const AGENTS = 6;

type Command = fc.AsyncCommand<AdmissionModel, AdmissionWorld>;

const FACTS = { taskId: '', actorType: null, actorId: null };

const BY_AN_AGENT: ModelPayload = {
  text: '{"task_id":"t1","actor_type":"agent","actor_id":"a"}',
  taskId: 't1',
  actorType: 'agent',
  actorId: 'a',
};

/** Payloads of every kind that the verdict table tells apart. */
const payloads: readonly ModelPayload[] = [
  ...['t1', 't2'].flatMap((taskId) => [
    { text: `{"task_id":"${taskId}"}`, ...FACTS, taskId },
    {
      text: `{"task_id":"${taskId}","actor_type":"user","actor_id":"p"}`,
      taskId,
      actorType: 'user',
      actorId: 'p',
    },
    {
      text: `{"task_id":"${taskId}","actor_type":"agent","actor_id":"b"}`,
      taskId,
      actorType: 'agent',
      actorId: 'b',
    },
  ]),
  { text: '{}', ...FACTS },
  { text: '{"task_id":null,"actor_type":"agent"}', ...FACTS, actorType: 'agent' },
  { text: '{"task_id":42,"actor_type":"agent"}', ...FACTS, taskId: null, actorType: 'agent' },
  { text: '{"task_id":"","actor_type":["agent"]}', ...FACTS },
  { text: 'not json', ...FACTS, taskId: null },
  { text: '[]', ...FACTS, taskId: null },
];

/** A wake; its key, when it has one, is one of few, so that keys are met again. */
class Wake implements Command {
  constructor(private readonly wake: ModelWake) {}

  check(): boolean {
    return true;
  }

  run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    return decideBoth(this.wake, model, world);
  }

  toString(): string {
    const { agent, reason, payload, key } = this.wake;
    return `wake(${agent}, ${reason}, ${payload.text}, ${String(key)})`;
  }
}

/** As many agents as the allowance has room for are assigned one task by another: the state that most rules are about. */
class Exhaust implements Command {
  check(): boolean {
    return true;
  }

  async run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    for (let agent = 0; agent < ALLOWANCE_LIMIT; agent++) {
      await decideBoth({ agent, reason: 'task_assigned', payload: BY_AN_AGENT, key: null }, model, world);
    }
  }

  toString(): string {
    return 'exhaust(t1)';
  }
}

class Advance implements Command {
  constructor(private readonly milliseconds: number) {}

  check(): boolean {
    return true;
  }

  run(_model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    world.reveille.clock.advance(this.milliseconds);
    return Promise.resolve();
  }

  toString(): string {
    return `advance(${this.milliseconds})`;
  }
}

class Claim implements Command {
  check(): boolean {
    return true;
  }

  async run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    const expected = model.claim();
    const claims = await world.runs.claim({
      workerId: 'w',
      bearerTokenId: 'b',
      workspaceId: world.workspaceId,
      agentProfileIds: null,
      max: AGENTS,
    });
    expect(claims.map(({ run }) => run.id).sort()).toEqual(expected.map((run) => world.ids.get(run)).sort());
    for (const run of expected) {
      const claim = claims.find((candidate) => candidate.run.id === world.ids.get(run));
      if (claim !== undefined) world.held.set(run, claim);
    }
    await world.expectEqual(model);
  }

  toString(): string {
    return 'claim';
  }
}

class Finish implements Command {
  check(model: Readonly<AdmissionModel>): boolean {
    return model.runs.some(({ status }) => status === 'claimed');
  }

  async run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    const run = model.runs.find(({ status }) => status === 'claimed');
    const claim = run === undefined ? undefined : world.held.get(run);
    if (run === undefined || claim === undefined) throw new Error('Nothing is held.');
    run.status = 'finished';
    await world.runs.finish(claim.run.id, { claimToken: claim.claimToken, bearerTokenId: 'b' }, {});
    await world.expectEqual(model);
  }

  toString(): string {
    return 'finish';
  }
}

class Switch implements Command {
  constructor(private readonly agent: number | null) {}

  check(): boolean {
    return true;
  }

  async run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    if (this.agent === null) {
      model.paused = !model.paused;
      await (model.paused ? world.pause() : world.resume());
    } else {
      const isRunnable = model.runnable[this.agent] !== true;
      model.runnable[this.agent] = isRunnable;
      await world.setRunnable(this.agent, isRunnable);
    }
  }

  toString(): string {
    return this.agent === null ? 'switch(workspace)' : `switch(agent ${this.agent})`;
  }
}

class Delete implements Command {
  constructor(private readonly place: number) {}

  check(model: Readonly<AdmissionModel>): boolean {
    return model.runs.some(({ status }) => status !== 'claimed');
  }

  async run(model: AdmissionModel, world: AdmissionWorld): Promise<void> {
    const idle = model.runs.filter(({ status }) => status !== 'claimed');
    const run = idle[this.place % idle.length];
    if (run === undefined) throw new Error('There is nothing to delete.');
    await world.delete(run);
    model.delete(run);
    await world.expectEqual(model);
  }

  toString(): string {
    return `delete(${this.place})`;
  }
}

/** One agent, one task and an agent as the actor more often than not, so that wakes meet each other. */
const wakes = fc
  .record({
    agent: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(AGENTS - 1) }),
    reason: fc.constantFrom('task_assigned', 'task_assigned', 'task_assigned', 'task_comment'),
    payload: fc.oneof(
      { weight: 2, arbitrary: fc.constant(BY_AN_AGENT) },
      { weight: 1, arbitrary: fc.constantFrom(...payloads) },
    ),
    key: fc.option(fc.constantFrom('k1', 'k1', 'k2', 'task_comment:c1'), { freq: 2 }),
  })
  .map((wake) => new Wake(wake));

/** Steps across every edge: just before it, on it, and just after it; most often the short ones. */
const advances = fc.constantFrom(
  ...[COALESCING_WINDOW_MS, COALESCING_WINDOW_MS, ALLOWANCE_WINDOW_MS, IDEMPOTENCY_WINDOW_MS].flatMap(
    (edge) => [-1, 0, 1].map((step) => new Advance(edge + step)),
  ),
);

export const admissionCommands = [
  wakes,
  wakes,
  wakes,
  wakes,
  wakes,
  fc.constant(new Exhaust()),
  advances,
  advances,
  fc.constant(new Claim()),
  fc.constant(new Finish()),
  fc.option(fc.nat(AGENTS - 1), { freq: 3 }).map((agent) => new Switch(agent)),
  fc.nat().map((place) => new Delete(place)),
];

/** Explains the wake and decides it, in the model and in the world, and compares everything there is. */
async function decideBoth(wake: ModelWake, model: AdmissionModel, world: AdmissionWorld): Promise<void> {
  const request = world.request(wake);
  const explained = await world.scheduler.explain(request);
  const expected = model.wake(wake, world.reveille.clock.now());
  expect(explained).toMatchObject({ outcome: expected.outcome, error: expected.error });
  const actual = await world.scheduler.queueRun(request).catch(codeOf);
  if (
    typeof actual !== 'string' &&
    expected.outcome === 'queued' &&
    expected.run !== null &&
    actual.runId !== null
  ) {
    world.ids.set(expected.run, actual.runId);
  }
  expect(shown(actual)).toEqual(inWorld(expected, world));
  await world.expectEqual(model);
}

function codeOf(error: unknown): string {
  if (error instanceof ReveilleError) return error.code;
  throw error;
}

/** The answer as both sides can say it. */
function shown(actual: Decision | string) {
  if (typeof actual === 'string') return { outcome: 'none', error: actual };
  const { outcome, runId, gate, allowance } = actual;
  return { outcome, runId, gate, observed: allowance?.observed ?? null, retryAt: allowance?.retryAt ?? null };
}

function inWorld({ outcome, run, gate, error, observed, retryAt }: Expected, world: AdmissionWorld) {
  if (error !== null) return { outcome, error };
  return { outcome, runId: run === null ? null : world.ids.get(run), gate, observed, retryAt };
}
