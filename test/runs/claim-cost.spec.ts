import { Transactions } from '../../src/database/transactions.js';
import { QueueHeads } from '../../src/runs/queue-heads.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';

/** How many runs of a busy agent stand before those of anybody else. */
const HOT = 5_000;

const WAITING_AGENTS = 500;

/** Far fewer than either, and more than a claim has use for. */
const FEW = 20;

const AGENTS = `
  INSERT INTO agents (id, workspace_id, name, role, status, can_assign_tasks, executor, execution_profile_id,
    permission_policy, env, max_run_seconds, created_at, updated_at)
  SELECT 'agent-' || n, 'w', 'A', 'worker', 'idle', false, 'command', 'default', 'refuse', '[]', 60, 0, 0
  FROM generate_series(0, $1::int) n`;

/** A claimed run of the first agent, all its queued ones after it, and then one of each other agent. */
const RUNS = `
  INSERT INTO runs (id, workspace_id, agent_profile_id, reason, payload, status, coalesced_count, key_scope,
    requested_at, retry_count, attempt)
  SELECT 'run-' || n, 'w', 'agent-' || greatest(0, n - $1::int), 'ping', '{}',
    CASE n WHEN 0 THEN 'claimed' ELSE 'queued' END, 1, '', n, 0, 0
  FROM generate_series(0, $1::int + $2::int) n`;

// SQLite does not tell how much it has read.
describe('what a claim reads on postgres', () => {
  const reveille = useReveille(() => TestReveille.start('postgres'));

  const claimOne = async () => {
    const request = { workerId: 'w', bearerTokenId: 'b', workspaceId: null, agentProfileIds: null };
    const claims = await reveille().get(RunsService).claim(request);
    return claims.map(({ run }) => run.id);
  };

  /** How many rows of what is claimed from this connection has read, as far as it has not handed its counts on. */
  async function rowsRead(): Promise<number> {
    const [counted] = await reveille().get(Transactions).writing().query<{ read: string }[]>(`
      SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) AS read
      FROM pg_stat_xact_user_tables WHERE relname IN ('runs', 'agents', 'queue_heads', 'queue_changes')`);
    return Number(counted?.read);
  }

  /** Claims in one transaction, on one connection, which counts for itself alone. */
  const countedClaim = () =>
    reveille()
      .get(Transactions)
      .run(async () => {
        const before = await rowsRead();
        const claimed = await claimOne();
        return { claimed, read: (await rowsRead()) - before };
      });

  it('AC-OFFICE-WORKER-003.1 is a few rows, however much a busy agent has waiting and however many agents wait', async () => {
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query(AGENTS, [WAITING_AGENTS]);
      await outsider.query(RUNS, [HOT, WAITING_AGENTS]);
      await reveille().get(QueueHeads).catchUp();
      await outsider.query('ANALYZE');
    });
    const first = await countedClaim();
    expect(first.claimed).toEqual([`run-${String(HOT + 1)}`]);
    expect(first.read).toBeLessThan(FEW);
    // It works off the note that the first has left.
    const second = await countedClaim();
    expect(second.claimed).toEqual([`run-${String(HOT + 2)}`]);
    expect(second.read).toBeLessThan(FEW);
  });
});
