import { randomUUID } from 'node:crypto';
import { AgentsService } from '../../src/agents/agents.service.js';
import { Transactions } from '../../src/database/transactions.js';
import type { Reaction } from '../../src/office/reactivity/reaction.js';
import type { Claim } from '../../src/runs/claim.js';
import { RETRY_DELAYS_MS } from '../../src/runs/retry-policy.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { aWorkspace, anAgent } from '../../src/testing.js';
import type { TestReveille } from '../support/reveille.js';
import { countersOf, moved } from './counters.js';
import type { ModelReaction, OfficeModel } from './office-model.js';
import { storedOffice } from './office-stored.js';
import { expectedOffice } from './office-expected.js';

const OPERATOR = { kind: 'user', id: 'somebody' };
const BEARER = 'b';

/** Whether each agent may assign tasks: the last one may not. */
export const MAY_ASSIGN = [true, true, true, false];

/** Everything that has a row of a workspace. */
const TABLES = [
  'task_recoveries',
  'task_participants',
  'task_blockers',
  'task_comments',
  'wake_notes',
  'run_wakes',
  'runs',
  'decisions',
  'tokens',
  'events',
  'workspace_pauses',
  'tasks',
  'agents',
  'workspaces',
];

/** An office of the real Reveille beside its model: what is done to one is done to both, and then they are compared. */
export class OfficeWorld {
  private readonly held = new Map<string, Claim>();
  private runIds: readonly string[] = [];

  private constructor(
    readonly reveille: TestReveille,
    readonly workspaceId: string,
    readonly agents: readonly string[],
    private readonly countersBefore: ReadonlyMap<string, number>,
  ) {}

  static async make(reveille: TestReveille): Promise<OfficeWorld> {
    const workspaceId = randomUUID();
    const agents = MAY_ASSIGN.map((_, number) => `${workspaceId}-a${number}`);
    await reveille.get(Transactions).run(async () => {
      await aWorkspace(reveille.app, { id: workspaceId });
      for (const [number, canAssignTasks] of MAY_ASSIGN.entries())
        await anAgent(reveille.app, workspaceId, { id: agents[number], canAssignTasks });
    });
    return new OfficeWorld(reveille, workspaceId, agents, await countersOf(reveille));
  }

  /** Leaves nothing of the sequence before, which the sweeps of the next would find. */
  static async clear(reveille: TestReveille): Promise<void> {
    const transactions = reveille.get(Transactions);
    await transactions.run(async () => {
      for (const table of TABLES) await transactions.writing().query(`DELETE FROM ${table}`);
    });
  }

  get now(): number {
    return this.reveille.clock.now();
  }

  agent(number: number): string {
    const id = this.agents[number];
    if (id === undefined) throw new Error('The model has more agents than the world.');
    return id;
  }

  /** A task's id: those of the office are numbered as they are made. */
  task(number: number): string {
    return `${this.workspaceId}-t${String(number).padStart(2, '0')}`;
  }

  async setPaused(isPaused: boolean): Promise<void> {
    const workspaces = this.reveille.get(WorkspacesService);
    if (isPaused) await workspaces.pause(this.workspaceId, 'a reason', OPERATOR);
    else await workspaces.resume(this.workspaceId, OPERATOR);
  }

  async setRunnable(agent: number, isRunnable: boolean): Promise<void> {
    const status = isRunnable ? 'idle' : 'paused';
    await this.reveille.get(AgentsService).update(this.agent(agent), { status });
  }

  /** Claims whatever there is, and answers for which agents. */
  async claim(): Promise<readonly string[]> {
    const { workspaceId, agents } = this;
    const claims = await this.runs.claim({
      workerId: 'w',
      bearerTokenId: BEARER,
      workspaceId,
      agentProfileIds: null,
      max: agents.length,
    });
    for (const claim of claims) this.held.set(claim.agent.id, claim);
    return claims.map(({ run }) => run.id);
  }

  async spendRetries(): Promise<void> {
    const transactions = this.reveille.get(Transactions);
    await transactions.run(async () => {
      const spent = `UPDATE runs SET retry_count = ${RETRY_DELAYS_MS.length} WHERE claim_token_hash IS NOT NULL`;
      await transactions.writing().query(spent);
    });
  }

  finish(agent: number): Promise<unknown> {
    const { run, claimToken } = this.claimOf(agent);
    return this.runs.finish(run.id, { claimToken, bearerTokenId: BEARER }, {});
  }

  fail(agent: number, isFinal: boolean): Promise<unknown> {
    const { run, claimToken } = this.claimOf(agent);
    return this.runs.fail(
      run.id,
      { claimToken, bearerTokenId: BEARER },
      {
        error: 'an error',
        retryable: !isFinal,
      },
    );
  }

  cancel(runNumber: number): Promise<unknown> {
    return this.runs.cancel(this.runId(runNumber), 'a reason');
  }

  /** The real run behind one of the model's. */
  runId(number: number): string {
    const id = this.runIds[number];
    if (id === undefined) throw new Error('The model has more runs than the world.');
    return id;
  }

  /** Everything that the model knows of, read from the database, and what was answered last. */
  async expectEqual(
    model: OfficeModel,
    expected: string | readonly ModelReaction[] = [],
    actual: string | readonly Reaction[] = [],
  ): Promise<void> {
    const { runIds, ...stored } = await storedOffice(this.reveille, this.workspaceId);
    this.runIds = runIds;
    expect(stored).toEqual(expectedOffice(model));
    expect(typeof actual === 'string' ? actual : actual.map(shown)).toEqual(
      typeof expected === 'string' ? expected : expected.map((one) => this.inWorld(one)),
    );
  }

  /** Counters only ever grow: whatever was miscounted on the way shows at the end. */
  async expectCounters(model: OfficeModel): Promise<void> {
    expect(moved(this.countersBefore, await countersOf(this.reveille))).toEqual(
      new Map([...model.admission.counters].sort()),
    );
  }

  private inWorld({ reason, agent, outcome, error, run, observed, retryAt }: ModelReaction) {
    const runId = run === null ? null : this.runId(run.number);
    return { reason, agentProfileId: this.agent(agent), outcome, error, runId, observed, retryAt };
  }

  private claimOf(agent: number): Claim {
    const claim = this.held.get(this.agent(agent));
    if (claim === undefined) throw new Error('Nothing is held.');
    return claim;
  }

  private get runs(): RunsService {
    return this.reveille.get(RunsService);
  }
}

function shown({ reason, agentProfileId, outcome, error, runId, allowance }: Reaction) {
  const { observed = null, retryAt = null } = allowance ?? {};
  return { reason, agentProfileId, outcome, error, runId, observed, retryAt };
}
