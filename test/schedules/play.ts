import { createHash } from 'node:crypto';
import type { Scheduler } from 'fast-check';
import { disagreements, doubles } from './accounts.js';
import { everybody } from './actors.js';
import { furnish } from './furnish.js';
import type { House } from './house.js';
import { untrueOf } from './promises.js';
import type { Scenario } from './scenario.js';
import { type LockPatience, MemoryStore } from './store/memory-store.js';
import { Turns } from './turns.js';
import { World } from './world.js';

/** What came of one scenario under one schedule. */
interface Outcome {
  /** What was not as promised, in words. */
  readonly broken: readonly string[];
  /** By which one interleaving is told from another: the scenario, and who did what in which order. */
  readonly interleaving: string;
}

/** Plays a scenario in the order that the scheduler picks, and compares what was told with what is there. */
export async function play(
  house: House,
  patience: LockPatience,
  scenario: Scenario,
  scheduler: Scheduler,
): Promise<Outcome> {
  const store = new MemoryStore(patience);
  const before = furnish(store, scenario, house.clock.now());
  const turns = new Turns(scheduler, house.clock);
  const world = new World(house, store, turns);
  const broken = [...(await unfinished(scheduler, everybody(world, scenario)))];
  turns.end();
  const tookTurns = store.missedLocks === 0;
  for (const entry of world.journal.entries) {
    const untrue = untrueOf(entry, tookTurns);
    broken.push(...untrue.map((what) => `${entry.request.payload} was ${what}`));
  }
  broken.push(...(await disagreements(world, before)));
  if (tookTurns) broken.push(...doubles(world));
  else if (!mayMissTurns(patience, scenario)) broken.push('somebody did not get a turn');
  const interleaving = [JSON.stringify(scenario), ...turns.order].join('\n');
  return { broken, interleaving: createHash('sha256').update(interleaving).digest('base64') };
}

/** Takes turns until nobody waits for one: then all must have ended, and none stand at a lock that nobody frees. */
async function unfinished(scheduler: Scheduler, all: readonly Promise<void>[]): Promise<readonly string[]> {
  const failed: string[] = [];
  let running = all.length;
  for (const one of all) {
    one
      .catch((error: unknown) => failed.push(`somebody failed with ${String(error)}`))
      .finally(() => running--);
  }
  await quiet();
  while (scheduler.count() > 0) {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successors guess how long a step's consequences take
    await scheduler.waitOne();
    await quiet();
  }
  return running === 0 ? failed : [...failed, `${running} of ${all.length} never ended`];
}

/** Resolves when all that a step has set going has come to its next turn or its end: no promise is left to be settled. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Who asks for one wake at a time gets its turn, and is never the one whom a deadlock is resolved by. */
function mayMissTurns(patience: LockPatience, { callers }: Scenario): boolean {
  const takesOne = callers.every(
    ({ own, refused, wakes }) => refused === null && (own === 'none' || wakes.length === 1),
  );
  return patience !== 'waits' || !takesOne;
}
