import fc from 'fast-check';
import {
  ALLOWANCE_LIMIT,
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
  IDEMPOTENCY_WINDOW_MS,
} from '../../src/scheduler/admission-limits.js';
import { PARTICIPANT_ROLES, TASK_STATES } from '../../src/tasks/task.schema.js';
import type { OfficeModel } from './office-model.js';
import * as steps from './office-steps.js';
import { MAY_ASSIGN, type OfficeWorld } from './office-world.js';

type Command = fc.AsyncCommand<OfficeModel, OfficeWorld>;

const NOTE_LEASE_MS = 30_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** As many tasks as an office begins with: what is done to more of them meets too seldom. */
const TASKS = 3;

/** One step, by what it is called in a counterexample. */
function command(
  title: string,
  run: Command['run'],
  check: (model: Readonly<OfficeModel>) => boolean = () => true,
): Command {
  return { check, run, toString: () => title };
}

const task = fc.nat(TASKS);
const agent = fc.nat(MAY_ASSIGN.length - 1);
/** Mostly the first two, so that they meet again. */
const familiar = fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: agent });
const actor = fc.option(familiar, { freq: 2 });
const assignee = fc.option(familiar, { freq: 5 });
const mentions = fc.uniqueArray(familiar, { maxLength: 2 });
const state = fc.constantFrom(...TASK_STATES, 'TODO', 'IN_PROGRESS', 'COMPLETED', 'COMPLETED', 'BLOCKED');

const mutations = fc
  .oneof(
    { weight: 4, arbitrary: fc.record({ task, actor, assignee }) },
    { weight: 4, arbitrary: fc.record({ task, actor, state }) },
    { weight: 3, arbitrary: fc.record({ task, actor, mentions }) },
    { weight: 3, arbitrary: fc.record({ task, actor, assignee, state, mentions }) },
  )
  .map((change: steps.Change) =>
    command(`mutate(${JSON.stringify(change)})`, (model, world) => steps.mutate(change, model, world)),
  );

const creations = fc
  .record({
    kind: fc.constantFrom('office', 'office', 'kanban'),
    parent: task,
    assignee: fc.option(familiar),
    state: fc.constantFrom('TODO', 'BLOCKED'),
  })
  .map((given) =>
    command(`create(${JSON.stringify(given)})`, (model, world) => steps.create(given, model, world)),
  );

const role = fc.constantFrom(...PARTICIPANT_ROLES);
const roles = fc
  .record({ task, agent: familiar, role })
  .map((given) =>
    command(`set role(${JSON.stringify(given)})`, (model, world) => steps.setRole(given, model, world)),
  );
const noRoles = fc
  .record({ task, agent: familiar, role: fc.option(role) })
  .map((given) =>
    command(`clear role(${JSON.stringify(given)})`, (model, world) => steps.clearRole(given, model, world)),
  );
const blockers = fc
  .record({ task, by: task })
  .map((given) =>
    command(`block(${JSON.stringify(given)})`, (model, world) => steps.block(given, model, world)),
  );
const noBlockers = fc
  .record({ task, by: task })
  .map((given) =>
    command(`unblock(${JSON.stringify(given)})`, (model, world) => steps.unblock(given, model, world)),
  );

/** Steps across every edge: just before it, on it, and just after it; most often the short ones. */
const edges = [COALESCING_WINDOW_MS, NOTE_LEASE_MS, MINUTE_MS, ALLOWANCE_WINDOW_MS];
const instants = fc.constantFrom(
  ...[...edges, ...edges, HOUR_MS, IDEMPOTENCY_WINDOW_MS].flatMap((edge) =>
    [-1, 0, 1].map((step) => edge + step),
  ),
);
const advances = instants.map((milliseconds) =>
  command(`advance(${milliseconds})`, (_model, world) => {
    world.reveille.clock.advance(milliseconds);
    return Promise.resolve();
  }),
);

const claims = fc.constant(command('claim', steps.claim));
const sweeps = fc.constant(command('sweep', steps.sweep));
const endings = fc
  .record({ place: fc.nat(3), how: fc.constantFrom('finished', 'failed', 'failed for good') })
  .map(({ place, how }) =>
    command(
      `end(${place}, ${how})`,
      (model, world) => steps.end(place, how, { model, world }),
      (model) => steps.workingIn(model).length > 0,
    ),
  );
const cancellations = fc.nat(9).map((place) =>
  command(
    `cancel(${place})`,
    (model, world) => steps.cancel(place, model, world),
    (model) => model.admission.runs.length > 0,
  ),
);

const switches = fc.option(familiar, { freq: 3 }).map((number) =>
  number === null
    ? command('switch(workspace)', steps.switchWorkspace)
    : command(
        `switch(agent ${number})`,
        (model, world) => steps.switchAgent(number, model, world),
        (model) => !model.deleted.has(number),
      ),
);
const deletions = agent.map((number) =>
  command(
    `delete(agent ${number})`,
    (model, world) => steps.deleteAgent(number, model, world),
    (model) => !model.deleted.has(number),
  ),
);

/** Two agents hand a task to each other until its allowance is used up: the state that the allowance is about. */
const toAndFro = task.map((number) =>
  command(`to and fro(${number})`, async (model, world) => {
    for (let turn = 0; turn <= ALLOWANCE_LIMIT; turn++) {
      await steps.mutate({ task: number, actor: (turn + 1) % 2, assignee: turn % 2 }, model, world);
      world.reveille.clock.advance(COALESCING_WINDOW_MS);
    }
  }),
);

/** Whatever was begun fails, and the task lies there as if nobody had: what the recovery sweep is for. */
const neglects = fc.record({ task, wait: instants }).map(({ task: number, wait }) =>
  command(`neglect(${number}, ${wait})`, async (model, world) => {
    await steps.claim(model, world);
    await steps.spendRetries(model, world);
    while (steps.workingIn(model).length > 0) await steps.end(0, 'failed', { model, world });
    await steps.mutate({ task: number, actor: null, state: 'TODO' }, model, world);
    world.reveille.clock.advance(wait);
    await steps.sweep(model, world);
  }),
);

export const officeCommands = [
  ...Array.from({ length: 8 }, () => mutations),
  ...[advances, advances, sweeps, sweeps, switches, switches, claims, claims],
  ...[creations, roles, noRoles, blockers, noBlockers, endings, endings, cancellations],
  ...[toAndFro, neglects, deletions],
];
