import type { Run } from '../../src/runs/run.schema.js';
import { aRun, anIdleAgent } from '../support/rows.js';
import { WORKSPACE, agentId } from './actors.js';
import { AGENTS, type Scenario } from './scenario.js';
import type { MemoryStore } from './store/memory-store.js';

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

/** Puts there what a scenario begins with, and answers the runs among it. */
export function furnish(store: MemoryStore, { spent, waiting }: Scenario, now: number): readonly Run[] {
  store.workspaces.seed({ id: WORKSPACE, name: 'Office', createdAt: now });
  for (let agent = 0; agent < AGENTS; agent++)
    store.agents.seed(anIdleAgent({ id: agentId(agent), workspaceId: WORKSPACE }));
  const runs = Array.from({ length: spent }, (_, place) =>
    assignment({ id: `spent ${place}`, agentProfileId: 'another', status: 'finished' }, now - MINUTE_MS),
  );
  if (waiting !== null) {
    const { key, actor } = waiting;
    const run = { id: 'waiting', agentProfileId: agentId(0), actorType: actor, idempotencyKey: key };
    runs.push(assignment(run, now - SECOND_MS));
  }
  for (const run of runs) store.runs.seed(run);
  return runs;
}

function assignment(given: Partial<Run> & Pick<Run, 'id'>, requestedAt: number): Run {
  const payload = JSON.stringify({ wake: given.id });
  return aRun({ workspaceId: WORKSPACE, taskId: 't1', actorType: 'agent', payload, requestedAt, ...given });
}
