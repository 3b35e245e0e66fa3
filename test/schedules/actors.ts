import { PostgresDialect } from '../../src/database/dialects/postgres.dialect.js';
import { UNHELD } from '../../src/runs/claims.repository.js';
import type { Run } from '../../src/runs/run.schema.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import { sessionsOf } from './store/memory-connections.js';
import type { House } from './house.js';
import type { Entry } from './journal.js';
import { AGENTS, type PlannedWake, type Scenario } from './scenario.js';
import { Undone } from './undone.js';
import type { World } from './world.js';

export const WORKSPACE = 'w';
const EVERYBODY = { workspaceId: null, agentProfileIds: null };
const OPERATOR = { kind: 'user', id: 'somebody' };

/** Starts everybody of the scenario at once; the promises are settled when all of them are done. */
export function everybody(world: World, { callers, neighbours }: Scenario): readonly Promise<void>[] {
  const asking = callers.map(({ own, refused, wakes }, place) => {
    const caller = `caller ${place}`;
    const entries = () => wakes.map((plan, turn) => [plan, request(plan, `${place}.${turn}`)] as const);
    return world.turns.as(caller, refused, () =>
      own === 'none' ? eachAlone(world, caller, entries()) : together(world, caller, entries(), own),
    );
  });
  const beside = neighbours.map((neighbour, place) =>
    world.turns.as(`neighbour ${place}`, null, () => {
      switch (neighbour.does) {
        case 'work':
          return work(world, neighbour.fails);
        case 'delete':
          return deleteRun(world, neighbour.place);
        case 'pause':
          return pauseAndResume(world.house);
      }
    }),
  );
  return [...asking, ...beside];
}

export const agentId = (agent: number) => `a${agent}`;

/** The payload says which wake it is, so that it is known wherever it ends up. */
function request({ agent, reason, task, actor, key }: PlannedWake, name: string): WakeRequest {
  const payload = JSON.stringify({ task_id: task, actor_type: actor, actor_id: 'x', wake: name });
  return { agentProfileId: agentId(agent), reason, payload, idempotencyKey: key };
}

type Asked = readonly (readonly [PlannedWake, WakeRequest])[];

/** A producer: each of its wakes is a transaction. */
async function eachAlone(world: World, caller: string, wakes: Asked): Promise<void> {
  for (const [plan, wake] of wakes) {
    const entry = world.journal.ask(plan, wake, caller);
    await decide(world, entry).then(
      () => {
        entry.isKept = true;
      },
      () => undefined,
    );
  }
}

/** A host: its wakes are decided in a transaction that is about more than them, and stand or fall with it. */
async function together(
  world: World,
  caller: string,
  wakes: Asked,
  end: 'committed' | 'failing',
): Promise<void> {
  const entries: Entry[] = [];
  const unit = world.house.transactions.run(async () => {
    for (const [plan, wake] of wakes) {
      const entry = world.journal.ask(plan, wake, caller);
      entries.push(entry);
      await decide(world, entry);
    }
    if (end === 'failing') throw new Undone();
  });
  await unit.then(
    () => {
      for (const entry of entries) entry.isKept = true;
    },
    () => undefined,
  );
}

async function decide(world: World, entry: Entry): Promise<void> {
  try {
    world.journal.decided(entry, await world.house.scheduler.queueRun(entry.request));
  } catch (error) {
    entry.answer = { error };
    entry.refused = world.turns.refusedTo(entry.caller);
    throw error;
  }
}

/** A worker, by the statements that claims are made of: the oldest due run of each agent, then its end. */
async function work(world: World, fails: boolean): Promise<void> {
  const { transactions, claims, clock } = world.house;
  const claimed = await transactions
    .run(async () => {
      const runs: Run[] = [];
      for (const { id } of await claims.lockWaitingAgents(EVERYBODY, [], AGENTS)) {
        const run = await claims.oldestDue(id, clock.now());
        if (run !== null) runs.push(run);
      }
      const taken = await takeAll(world.house, runs);
      if (fails) throw new Undone();
      return taken;
    })
    .catch(nothingClaimed);
  for (const [id, payloads] of claimed) {
    world.journal.delivered.set(id, payloads);
    await transactions.run(() => claims.change(id, 'claimed', { status: 'finished', ...UNHELD }));
  }
}

async function takeAll({ claims, wakes }: House, runs: readonly Run[]) {
  const taken: [string, readonly string[]][] = [];
  for (const run of runs) {
    await claims.change(run.id, 'queued', { status: 'claimed', claimTokenHash: 'hash' });
    taken.push([run.id, (await wakes.of(run)).map(({ payload }) => payload)]);
  }
  return taken;
}

/** A worker who changes their mind, or is the one whom a deadlock is resolved by, has claimed nothing. */
function nothingClaimed(error: unknown): [] {
  if (error instanceof Undone || new PostgresDialect().isLockTimeout(error)) return [];
  throw error;
}

/** An operator who deletes one of the runs that are there when their turn comes. */
async function deleteRun({ house: { transactions }, store }: World, place: number): Promise<void> {
  await transactions.run(() =>
    sessionsOf(transactions)
      .writing()
      .statement('delete a run', (session) => {
        const idle = store.runs.seenBy(session).filter(({ status }) => status !== 'claimed');
        const run = idle[place % Math.max(1, idle.length)];
        if (run !== undefined) store.deleteRun(session, run.id);
      }),
  );
}

async function pauseAndResume({ workspaces }: House): Promise<void> {
  await workspaces.pause(WORKSPACE, 'a reason', OPERATOR);
  await workspaces.resume(WORKSPACE, OPERATOR);
}
