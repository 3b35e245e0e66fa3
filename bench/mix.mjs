/**
 * The wakes of the figure `admit`: 70 % new, 20 % redelivered, 10 % to be merged.
 *
 * They come in groups of ten that one caller sends in order. A wake is only certain to be recognised as a redelivery
 * once the one that it repeats has been answered, and to be merged when it follows within five seconds. So the outcome
 * of each is known before, however many callers there are.
 */

/** @typedef {import('../src/scheduler/wake.js').WakeRequest & { idempotencyKey: string }} Wake */

/**
 * The same delivery again.
 *
 * @param {Wake} wake
 */
const redelivered = (wake) => wake;

/**
 * The same assignment again: another occurrence, while the run of the first one is still waiting.
 *
 * @param {Wake} wake
 */
const reassigned = (wake) => ({ ...wake, idempotencyKey: `${wake.idempotencyKey}:again` });

/** What follows each of a group's new wakes. */
const FOLLOWERS = [[reassigned], [], [redelivered], [], [], [redelivered], []];

/** How many wakes a group has. */
export const GROUP_SIZE = FOLLOWERS.length + FOLLOWERS.flat().length;

/** The rows that a group leaves, by table. The first merge into a run enters both of its wakes in the ledger. */
export const ROWS_OF_GROUP = { runs: 7, run_wakes: 2, decisions: 3, events: 7 };

/**
 * The wakes of one group, in the order in which they must be sent. All of them differ from those of every other group.
 *
 * @param {number} group its number
 * @param {readonly string[]} agents who take turns at being woken
 * @returns {readonly Wake[]}
 */
export function wakesOf(group, agents) {
  return FOLLOWERS.flatMap((followers, place) => {
    const wake = newWake(group, place, agents);
    return [wake, ...followers.map((follow) => follow(wake))];
  });
}

/**
 * An agent's assignment, whose payload and key are as its producer makes them. A group has two tasks, so that the
 * allowance has something to count and never refuses.
 *
 * @param {number} group
 * @param {number} place
 * @param {readonly string[]} agents
 * @returns {Wake}
 */
function newWake(group, place, agents) {
  const turn = group * FOLLOWERS.length + place;
  const agentProfileId = agents[turn % agents.length] ?? '';
  const taskId = `task-${group}-${place % 2}`;
  const payload = {
    reason: 'task_assigned',
    task_id: taskId,
    actor_type: 'agent',
    actor_id: agents[(turn + 1) % agents.length],
  };
  return {
    agentProfileId,
    reason: 'task_assigned',
    payload: JSON.stringify(payload),
    idempotencyKey: `task_assigned:${taskId}:${agentProfileId}:1`,
  };
}
