import type { WakeRequest } from '../../src/scheduler/wake.js';
import { aWorkspace, anAgent } from '../../src/testing.js';
import { AskedProcess } from '../support/asked-process.js';
import { asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const AGENTS = 50;
const WAKES = 5_000;

/** Five thousand wakes are decided, merged, claimed and ended by two processes on two cores. */
const PATIENCE_MS = 10 * 60_000;

interface Tally {
  readonly ended: number;
  readonly refused: number;
}

/** One process at work: a run was begun by a claim and ended by its report. */
interface Turn {
  readonly agent: string;
  readonly status: string;
  readonly wakes: number;
  readonly begun: string;
  readonly done: string;
}

describe('two processes on one database', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));

  async function agentsOf(workspaceId: string): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let place = 0; place < AGENTS; place++)
      ids.push((await anAgent(reveille().app, workspaceId, { name: `agent ${String(place)}` })).id);
    return ids;
  }

  it(
    'AC-OFFICE-WORKER-009.1 AC-OFFICE-WORKER-001.2 end every run that fifty agents were woken for, and never work at two of one agent at once',
    async () => {
      const { id: workspaceId } = await aWorkspace(reveille().app);
      const agents = await agentsOf(workspaceId);
      const wakes: WakeRequest[] = Array.from({ length: WAKES }, (_, place) => ({
        agentProfileId: agents[place % AGENTS] ?? '',
        reason: 'ping',
        payload: JSON.stringify({ task_id: `task-${String(Math.floor(place / AGENTS) % 4)}`, place }),
      }));
      const url = postgresUrl(reveille());
      const processes = await Promise.all(
        [0, 1].map(() => AskedProcess.start('labouring-process.child.mjs', [url])),
      );
      const shares = [
        wakes.filter((_, place) => place % 2 === 0),
        wakes.filter((_, place) => place % 2 === 1),
      ];
      await Promise.all(processes.map((process, place) => process.ask({ wakes: shares[place] })));
      const tallies = await Promise.all(processes.map((process) => process.ask<Tally>({ rest: true })));
      await Promise.all(processes.map((process) => process.stop()));

      const turns = await asOutsider(reveille(), (outsider) =>
        outsider.query<Turn>(`
          SELECT agent_profile_id AS agent, status, coalesced_count AS wakes, claimed_at AS begun, finished_at AS done
          FROM runs ORDER BY agent_profile_id, claimed_at, finished_at`),
      );
      expect(tallies.map(({ refused }) => refused)).toEqual([0, 0]);
      expect(turns.reduce((sum, { wakes: answered }) => sum + answered, 0)).toBe(WAKES);
      expect(turns.filter(({ status }) => status !== 'finished')).toEqual([]);
      // Both had their share, or nothing was shown.
      for (const { ended } of tallies) expect(ended).toBeGreaterThan(turns.length / 10);
      expect(tallies.reduce((sum, { ended }) => sum + ended, 0)).toBe(turns.length);
      expect(overlaps(turns)).toEqual([]);
    },
    PATIENCE_MS,
  );
});

/** The turns that began before the same agent's one before them was over. */
function overlaps(turns: readonly Turn[]): readonly Turn[] {
  return turns.filter((turn, place) => {
    const before = turns[place - 1];
    return before?.agent === turn.agent && Number(before.done) > Number(turn.begun);
  });
}
