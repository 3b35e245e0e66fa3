import { AgentsRepository } from '../../src/agents/agents.repository.js';
import { Transactions } from '../../src/database/transactions.js';
import { QueueHeads } from '../../src/runs/queue-heads.js';
import type { Run } from '../../src/runs/run.schema.js';
import { RunsRepository } from '../../src/runs/runs.repository.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { onEachDatabase } from '../support/databases.js';
import { whileFailing } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aRun, anIdleAgent } from '../support/rows.js';

onEachDatabase('who waits', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  let offices = 0;

  /** An office whose agents and runs nobody but the test knows of. */
  const anOffice = () => {
    const workspaceId = `office-${String(offices++)}`;
    const transactions = reveille().get(Transactions);
    const id = (name: string) => `${workspaceId}/${name}`;
    return {
      id,
      agent: (name: string) =>
        transactions.run(() =>
          reveille()
            .get(AgentsRepository)
            .insert(anIdleAgent({ id: id(name), workspaceId })),
        ),
      queue: (agent: string, name: string, run: Partial<Run> = {}) =>
        transactions.run(() =>
          reveille()
            .get(RunsRepository)
            .insert(aRun({ ...run, id: id(name), agentProfileId: id(agent), workspaceId })),
        ),
      claim: async (max = 1, agents: readonly string[] | null = null) => {
        const claims = await reveille()
          .get(RunsService)
          .claim({
            workerId: 'w',
            bearerTokenId: 'b',
            workspaceId,
            agentProfileIds: agents?.map(id) ?? null,
            max,
          });
        return claims.map(({ run }) => run.id.slice(workspaceId.length + 1));
      },
      outside: (sql: string, name: string) =>
        asOutsider(reveille(), (outsider) => outsider.query(sql, [id(name)])),
    };
  };

  it('AC-OFFICE-WORKER-001.1 is the agent whose oldest due run is the oldest', async () => {
    const office = anOffice();
    for (const name of ['a', 'b', 'c']) await office.agent(name);
    await office.queue('a', 'a5', { requestedAt: 5 });
    await office.queue('b', 'b3', { requestedAt: 3 });
    await office.queue('c', 'c4', { requestedAt: 4 });
    await office.queue('b', 'b1', { requestedAt: 1 });
    expect(await office.claim(2)).toEqual(['b1', 'c4']);
    expect(await office.claim(9)).toEqual(['a5']);
    expect(await office.claim(9)).toEqual([]);
  });

  it('AC-OFFICE-WORKER-001.1 is found among the agents that are asked for alone', async () => {
    const office = anOffice();
    for (const name of ['a', 'b']) await office.agent(name);
    await office.queue('a', 'a1', { requestedAt: 1 });
    await office.queue('b', 'b2', { requestedAt: 2 });
    expect(await office.claim(9, ['b'])).toEqual(['b2']);
    expect(await office.claim(9, [])).toEqual([]);
    expect(await office.claim(9)).toEqual(['a1']);
  });

  it('AC-OFFICE-WORKER-002.4 is not kept from a younger run by one that waits to be tried again, which comes first once it is due', async () => {
    const office = anOffice();
    await office.agent('a');
    const retryAt = reveille().clock.now() + 60_000;
    await office.queue('a', 'retry', { requestedAt: 1, scheduledRetryAt: retryAt });
    expect(await office.claim()).toEqual([]);
    await office.queue('a', 'fresh', { requestedAt: 2 });
    expect(await office.claim()).toEqual(['fresh']);
    await office.outside(
      `UPDATE runs SET status = 'finished', claim_token_hash = NULL WHERE id = $1`,
      'fresh',
    );
    await office.queue('a', 'later', { requestedAt: 3 });
    await office.agent('b');
    await office.queue('b', 'b2', { requestedAt: 2 });
    reveille().clock.advance(59_999);
    expect(await office.claim()).toEqual(['b2']);
    reveille().clock.advance(1);
    expect(await office.claim()).toEqual(['retry']);
  });

  it.each([
    ['queued anew', `UPDATE runs SET status = 'queued' WHERE id = $1`, 'a2', ['a2', 'f8', 'g9']],
    ['due at once', 'UPDATE runs SET scheduled_retry_at = NULL WHERE id = $1', 'b3', ['b3', 'f8', 'g9']],
    ['gone', 'DELETE FROM runs WHERE id = $1', 'c4', ['c5', 'f8', 'g9']],
    ['let go of', 'UPDATE runs SET claim_token_hash = NULL WHERE id = $1', 'e6', ['e7', 'f8', 'g9']],
    ['older', 'UPDATE runs SET requested_at = 0 WHERE id = $1', 'g9', ['g9', 'f8']],
  ])(
    'AC-OFFICE-WORKER-003.2 is known at the very next claim when a run is %s from outside',
    async (_, sql, name, then) => {
      const office = anOffice();
      for (const agent of ['a', 'b', 'c', 'e', 'f', 'g']) await office.agent(agent);
      await office.queue('a', 'a2', { requestedAt: 2, status: 'finished' });
      await office.queue('b', 'b3', { requestedAt: 3, scheduledRetryAt: reveille().clock.now() + 1 });
      await office.queue('c', 'c4', { requestedAt: 4, status: 'claimed' });
      await office.queue('c', 'c5', { requestedAt: 5 });
      await office.queue('e', 'e6', { requestedAt: 6, status: 'cancelled', claimTokenHash: 'held' });
      await office.queue('e', 'e7', { requestedAt: 7 });
      await office.queue('f', 'f8', { requestedAt: 8 });
      await office.queue('g', 'g9', { requestedAt: 9 });
      expect(await office.claim(9, ['a', 'b', 'c', 'e'])).toEqual([]);
      await office.outside(sql, name);
      expect(await office.claim(9)).toEqual(then);
    },
  );

  it('AC-OFFICE-WORKER-003.2 is moved with a run that is given to another agent from outside', async () => {
    const office = anOffice();
    for (const name of ['a', 'b']) await office.agent(name);
    await office.queue('a', 'r', { requestedAt: 1 });
    await reveille().get(QueueHeads).catchUp();
    await asOutsider(reveille(), (outsider) =>
      outsider.query('UPDATE runs SET agent_profile_id = $1 WHERE id = $2', [office.id('b'), office.id('r')]),
    );
    expect(await office.claim(9, ['a'])).toEqual([]);
    expect(await office.claim(9)).toEqual(['r']);
  });

  it('AC-OFFICE-WORKER-003.2 is looked for behind agents whose runs are gone, and those are not looked at again', async () => {
    const office = anOffice();
    for (const name of ['a', 'b']) await office.agent(name);
    await office.queue('a', 'a1', { requestedAt: 1 });
    await office.queue('b', 'b2', { requestedAt: 2 });
    await reveille().get(QueueHeads).catchUp();
    await office.outside('DELETE FROM runs WHERE id = $1', 'a1');
    // As if whoever deleted it had done so past every trigger.
    await reveille()
      .get(Transactions)
      .run(() => reveille().get(Transactions).writing().query('DELETE FROM queue_changes'));
    expect(await office.claim()).toEqual(['b2']);
    await reveille().get(QueueHeads).catchUp();
    const heads = await asOutsider(reveille(), (outsider) =>
      outsider.query('SELECT head_at FROM queue_heads WHERE agent_profile_id = $1', [office.id('a')]),
    );
    expect(heads).toEqual([{ head_at: null }]);
  });

  it('AC-OFFICE-WORKER-002.2 is nobody while nobody can say who is paused: the runs stay, and the claim is counted', async () => {
    const office = anOffice();
    await office.agent('a');
    await office.queue('a', 'r');
    const moved = await movedBy(reveille(), 'office_claims_deferred_total', () =>
      whileFailing(reveille(), /workspace_pauses/, async () => {
        expect(await office.claim()).toEqual([]);
      }),
    );
    expect(moved).toEqual({ '': 1 });
    expect(await office.claim()).toEqual(['r']);
  });

  it('AC-OFFICE-WORKER-001.2 is known to every one of many claims at once, while wakes come in', async () => {
    const office = anOffice();
    const names = Array.from({ length: 12 }, (_, place) => `agent-${String(place)}`);
    for (const name of names) await office.agent(name);
    const claimed: string[] = [];
    const queued = names.map((name, place) =>
      office.queue(name, `run-${String(place)}`, { requestedAt: place }),
    );
    const claims = names.map(async () => {
      claimed.push(...(await office.claim()));
    });
    await Promise.all([...queued, ...claims]);
    while (claimed.length < names.length) {
      const more = await office.claim(names.length);
      expect(more).not.toEqual([]);
      claimed.push(...more);
    }
    expect(new Set(claimed).size).toBe(names.length);
  });
});
