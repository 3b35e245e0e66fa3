import { AgentsService } from '../../src/agents/agents.service.js';
import { Transactions } from '../../src/database/transactions.js';
import { ReveilleError } from '../../src/errors/reveille-error.js';
import type { Claim } from '../../src/runs/claim.js';
import { type Run, RunSchema } from '../../src/runs/run.schema.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { aWorkspace, anAgent } from '../../src/testing.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { samplesOf } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import type { TestReveille } from '../support/reveille.js';
import { aRun } from '../support/rows.js';
import type { LivesModel, ModelFailure, ModelRun } from './lives-model.js';

const OPERATOR = { kind: 'user', id: 'somebody' };
const BEARER = 'b';
const LOST = 'office_claims_lost_total';

/** What a holder can say of its run. */
export const REPORTS = ['heartbeat', 'finish', 'fail', 'release'] as const;
export type Report = (typeof REPORTS)[number];

/** A task that none of ours is: a host's own, about which runs have something in common. */
const TASK = 'elsewhere';

/** Of use for a report that is refused. */
const FOR_GOOD: ModelFailure = { error: 'an error', isRetryable: false, resetMs: null };

/** An office of the real Reveille beside the model of its runs: what is done to one is done to both. */
export class LivesWorld {
  /** The claims that hold a run, and those that did. */
  private readonly held = new Map<number, Claim>();
  private readonly old: Claim[] = [];
  private probes = 0;

  private constructor(
    readonly reveille: TestReveille,
    private readonly workspaceId: string,
    private readonly agents: readonly string[],
    private readonly lostBefore: number,
  ) {}

  /** Leaves nothing of the sequence before that a sweep of the next would find. */
  static async clear(reveille: TestReveille): Promise<void> {
    const transactions = reveille.get(Transactions);
    await transactions.run(async () => {
      for (const table of ['runs', 'tokens', 'events'])
        await transactions.writing().query(`DELETE FROM ${table}`);
    });
  }

  static async make(reveille: TestReveille, agentCount: number): Promise<LivesWorld> {
    const { id } = await aWorkspace(reveille.app);
    const agents: string[] = [];
    while (agents.length < agentCount) agents.push((await anAgent(reveille.app, id)).id);
    return new LivesWorld(reveille, id, agents, await lostSoFar(reveille));
  }

  get now(): number {
    return this.reveille.clock.now();
  }

  /** No two runs are of one instant, so that there always is an oldest. */
  async queue({ number, agent, reason }: ModelRun): Promise<void> {
    const transactions = this.reveille.get(Transactions);
    const { workspaceId, now } = this;
    const agentProfileId = this.agent(agent);
    const row = aRun({
      id: this.idOf(number),
      workspaceId,
      agentProfileId,
      reason,
      taskId: TASK,
      requestedAt: now,
    });
    await transactions.run(() => transactions.writing().insert(RunSchema, row));
    this.reveille.clock.advance(1);
  }

  /** Claims at most so many runs, and answers their numbers. */
  async claim(workerId: string, max: number): Promise<readonly number[]> {
    const { workspaceId } = this;
    const claims = await this.runs.claim({
      workerId,
      bearerTokenId: BEARER,
      workspaceId,
      agentProfileIds: null,
      max,
    });
    return claims.map((claim) => {
      const number = Number(claim.run.id.slice(claim.run.id.lastIndexOf('-') + 1));
      this.held.set(number, claim);
      return number;
    });
  }

  /** Answers the heartbeat, the run, or the code of the error. */
  async report(run: ModelRun, what: Report, failure = FOR_GOOD): Promise<unknown> {
    const claim = this.held.get(run.number);
    if (claim === undefined) throw new Error('Nobody holds that run.');
    const answer = await this.send(claim, what, failure);
    if (what !== 'heartbeat') this.loses(run);
    return answer;
  }

  /** The claim of the run holds it no longer. */
  loses({ number }: ModelRun): void {
    const claim = this.held.get(number);
    if (claim !== undefined) this.old.push(claim);
    this.held.delete(number);
  }

  cancel({ number }: ModelRun, reason: string): Promise<unknown> {
    return this.runs.cancel(this.idOf(number), reason).catch(codeOf);
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

  /** The rows are the model's, no agent holds two, and no claim of old changes anything. */
  async expectEqual(model: LivesModel): Promise<void> {
    await this.expectLost(model);
    const stored = await this.stored();
    expect(stored.map(shown)).toEqual(model.runs.map((run) => this.expected(run)));
    const holders = stored.filter(isHeld).map(({ agentProfileId }) => agentProfileId);
    expect(new Set(holders).size).toBe(holders.length);
  }

  /** One after the other of the claims of old, with one report after the other: all of them again and again. */
  private async expectLost(model: LivesModel): Promise<void> {
    const probe = this.probes++;
    const claim = this.old[Math.floor(probe / 2) % this.old.length];
    if (claim === undefined) return;
    expect(await this.send(claim, pick(REPORTS, probe % REPORTS.length))).toBe('claim_lost');
    model.refused++;
  }

  /** Counters only ever grow: whatever was miscounted on the way shows at the end. */
  async expectCounted(model: LivesModel): Promise<void> {
    expect((await lostSoFar(this.reveille)) - this.lostBefore).toBe(model.refused);
  }

  private async send({ run, claimToken }: Claim, what: Report, failure = FOR_GOOD): Promise<unknown> {
    const { error, isRetryable: retryable } = failure;
    const report = { claimToken, bearerTokenId: BEARER };
    switch (what) {
      case 'heartbeat':
        return this.runs.heartbeat(run.id, report).catch(codeOf);
      case 'finish':
        return this.runs.finish(run.id, report, {}).catch(codeOf);
      case 'fail':
        return this.runs.fail(run.id, report, { error, retryable }).catch(codeOf);
      case 'release':
        return this.runs.release(run.id, report).catch(codeOf);
    }
  }

  private stored(): Promise<Run[]> {
    const { workspaceId } = this;
    const reading = this.reveille.get(Transactions).reading();
    return reading.find(RunSchema, { where: { workspaceId }, order: { requestedAt: 'ASC' } });
  }

  private expected({ number, agent, leaseEnd, ...run }: ModelRun) {
    const row = { id: this.idOf(number), agentProfileId: this.agent(agent), ...run, leaseEnd };
    return { ...row, isHeld: leaseEnd !== null };
  }

  private idOf(number: number): string {
    return `${this.workspaceId}-${number}`;
  }

  private agent(number: number): string {
    return pick(this.agents, number);
  }

  private get runs(): RunsService {
    return this.reveille.get(RunsService);
  }
}

function shown(run: Run) {
  const { id, agentProfileId, reason, requestedAt, status, attempt, retryCount, claimedAt, finishedAt } = run;
  const row = { id, agentProfileId, reason, requestedAt, status, attempt, retryCount, claimedAt, finishedAt };
  const { scheduledRetryAt: dueAt, leaseExpiresAt: leaseEnd, cancelReason, errorMessage: error } = run;
  return { ...row, dueAt, leaseEnd, cancelReason, error, isHeld: isHeld(run) };
}

function isHeld({ claimTokenHash }: Run): boolean {
  return claimTokenHash !== null;
}

async function lostSoFar(reveille: TestReveille): Promise<number> {
  return [...(await samplesOf(reveille, LOST)).values()].reduce((sum, value) => sum + value, 0);
}

function codeOf(error: unknown): string {
  if (error instanceof ReveilleError) return error.code;
  throw error;
}
