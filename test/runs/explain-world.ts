import { AgentsService } from '../../src/agents/agents.service.js';
import { Transactions } from '../../src/database/transactions.js';
import { TasksService } from '../../src/office/tasks.service.js';
import { ClaimExplainer } from '../../src/runs/claim-explainer.js';
import type { ClaimReport, ClaimRequest } from '../../src/runs/claim.js';
import { ClaimsRepository } from '../../src/runs/claims.repository.js';
import { RunEndings } from '../../src/runs/run-endings.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { pick } from '../support/pick.js';
import type { TestReveille } from '../support/reveille.js';
import { Workplace } from '../support/wakes.js';

const BEARER = 'the-bearer';
const MINUTE_MS = 60_000;

/** What undoes a claim that was only tried. */
class Undone extends Error {}

/** An office of two agents and a task, in which every run can be asked for and every claim be tried without a trace. */
export class ExplainWorld {
  private readonly held = new Map<string, { readonly runId: string; readonly report: ClaimReport }>();

  private constructor(
    private readonly reveille: TestReveille,
    private readonly place: Workplace,
    readonly agents: readonly string[],
  ) {}

  static async open(reveille: TestReveille): Promise<ExplainWorld> {
    const place = await Workplace.open(reveille);
    return new ExplainWorld(reveille, place, await place.agents(2));
  }

  /** Wakes an agent about nothing, too late to be merged with the wake before. */
  async wake(agent: number): Promise<void> {
    this.reveille.clock.advance(COALESCING_WINDOW_MS);
    await this.ifAllowed(
      this.place.wake({ agentProfileId: this.agent(agent), reason: 'hello', payload: '{}' }),
    );
  }

  /** Gives the task to an agent, which wakes it; what others were to do about it is overtaken. */
  async assign(agent: number | null): Promise<void> {
    await this.reveille
      .get(TasksService)
      .update(this.place.taskId, { assigneeAgentProfileId: agent === null ? null : this.agent(agent) });
  }

  async setState(state: 'TODO' | 'COMPLETED'): Promise<void> {
    await this.reveille.get(TasksService).update(this.place.taskId, { state });
  }

  async claim(agent: number): Promise<void> {
    const [claim] = await this.reveille.get(RunsService).claim(this.request(this.agent(agent)));
    if (claim === undefined) return;
    const report = { claimToken: claim.claimToken, bearerTokenId: BEARER };
    this.held.set(this.agent(agent), { runId: claim.run.id, report });
  }

  /** Lets go of what an agent holds: with its end, or unfinished; of what was cancelled, with a late report. */
  async end(agent: number, how: 'finish' | 'release'): Promise<void> {
    const held = this.held.get(this.agent(agent));
    if (held === undefined) return;
    this.held.delete(this.agent(agent));
    const runs = this.reveille.get(RunsService);
    await this.ifAllowed(
      how === 'finish' ? runs.finish(held.runId, held.report, {}) : runs.release(held.runId, held.report),
    );
  }

  /** Cancels what an agent holds under its worker's hands. */
  async cancel(agent: number): Promise<void> {
    const held = this.held.get(this.agent(agent));
    if (held !== undefined)
      await this.ifAllowed(this.reveille.get(RunsService).cancel(held.runId, 'no longer'));
  }

  /** Ends every lease. */
  async loseLeases(): Promise<void> {
    const ever = Number.MAX_SAFE_INTEGER;
    for (const { id } of await this.reveille.get(ClaimsRepository).overdue(ever, 100))
      await this.reveille.get(RunEndings).takeBack(id, ever, 3);
  }

  /** Has the agent's oldest run that waits be tried again so many minutes from now. */
  async postpone(agent: number, minutes: number): Promise<void> {
    const waiting = (await this.place.runs()).find(
      ({ status, agentProfileId }) => status === 'queued' && agentProfileId === this.agent(agent),
    );
    if (waiting !== undefined)
      await this.place.alter(waiting.id, {
        scheduled_retry_at: this.reveille.clock.now() + minutes * MINUTE_MS,
      });
  }

  async setStatus(agent: number, status: 'idle' | 'paused'): Promise<void> {
    await this.reveille.get(AgentsService).update(this.agent(agent), { status });
  }

  async setPause(isPaused: boolean): Promise<void> {
    const [workspaces, by] = [this.reveille.get(WorkspacesService), { kind: 'user', id: 'somebody' }];
    if (isPaused) await workspaces.pause(this.place.workspaceId, 'a reason', by);
    else await workspaces.resume(this.place.workspaceId, by);
  }

  advance(minutes: number): void {
    this.reveille.clock.advance(minutes * MINUTE_MS);
  }

  /** The runs that are said to be claimable, agent by agent; every run is asked for. */
  async explained(): Promise<Readonly<Record<string, readonly string[]>>> {
    const claimable: Record<string, string[]> = Object.fromEntries(this.agents.map((id) => [id, []]));
    for (const run of await this.place.runs())
      if ((await this.reveille.get(ClaimExplainer).explain(run)).claimable)
        claimable[run.agentProfileId]?.push(run.id);
    return claimable;
  }

  /** The runs that the next claim for each agent takes; nobody takes them. */
  async taken(): Promise<Readonly<Record<string, readonly string[]>>> {
    const taken: Record<string, readonly string[]> = {};
    for (const agent of this.agents) {
      const claiming = this.reveille.get(Transactions).run(async () => {
        const claims = await this.reveille.get(RunsService).claim(this.request(agent));
        taken[agent] = claims.map(({ run }) => run.id);
        throw new Undone();
      });
      await expect(claiming).rejects.toThrow(Undone);
    }
    return taken;
  }

  private request(agent: string): ClaimRequest {
    return {
      workerId: 'w',
      bearerTokenId: BEARER,
      workspaceId: null,
      agentProfileIds: [agent],
      max: 10,
    };
  }

  private agent(index: number): string {
    return pick(this.agents, index);
  }

  /** A wake that a pause refuses, or a report that comes too late, is a step that changed nothing. */
  private async ifAllowed(step: Promise<unknown>): Promise<void> {
    await step.catch(() => undefined);
  }
}
