import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import { Clock } from '../clock/clock.js';
import type { InstantPlace } from '../database/listing.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import { ClaimBlockersRepository } from './claim-blockers.repository.js';
import type { Run } from './run.schema.js';
import { Staleness } from './staleness.js';

/** How many of the runs that stand before one are read in one statement. */
const PAGE = 100;

export type ClaimBlockerCode =
  'not_queued' | 'retry_scheduled' | 'agent_busy' | 'agent_not_runnable' | 'workspace_paused' | 'stale';

/** One thing that keeps a run from being claimed. */
export interface ClaimBlocker {
  readonly code: ClaimBlockerCode;
  /** A sentence for people. */
  readonly detail: string;
  /** When it ends by itself at the latest; null when nobody can tell. */
  readonly until: number | null;
}

export interface ClaimExplanation {
  /** Whether the next claim for the run's agent takes it. */
  readonly claimable: boolean;
  /** Everything that keeps it from that. */
  readonly blockers: readonly ClaimBlocker[];
}

/** Tells of a run what a claim would make of it now, by what the claim itself asks. */
@Injectable()
export class ClaimExplainer {
  constructor(
    private readonly queue: ClaimBlockersRepository,
    private readonly agents: AgentsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly staleness: Staleness,
    private readonly clock: Clock,
  ) {}

  /** Changes nothing and counts nowhere. A code stands twice where the agent is at work and another run goes first. */
  async explain(run: Run): Promise<ClaimExplanation> {
    const blockers = [
      ...(run.status === 'queued' ? [] : [blocker('not_queued', `The run is ${run.status}.`)]),
      ...(await this.standing(run)),
      ...(await this.hold(run)),
      // The queue asks these only of what waits in it: an ended run is overtaken by nothing any more.
      ...(run.status === 'queued' ? await this.turn(run) : []),
    ];
    return { claimable: blockers.length === 0, blockers };
  }

  /** Whether anything of the agent may be claimed. */
  private async standing({ agentProfileId, workspaceId }: Run): Promise<readonly ClaimBlocker[]> {
    const blockers: ClaimBlocker[] = [];
    if (!(await this.queue.isRunnable(agentProfileId))) {
      const status = (await this.agents.find(agentProfileId))?.status ?? 'gone';
      blockers.push(blocker('agent_not_runnable', `The agent is ${status}.`));
    }
    const pause = await this.pause(workspaceId);
    if (pause !== null) blockers.push(blocker('workspace_paused', pause));
    return blockers;
  }

  /** A kill switch that nobody can read counts as pressed, as at admission; a claim that cannot read it takes nothing. */
  private async pause(workspaceId: string): Promise<string | null> {
    try {
      return (await this.workspaces.openPause(workspaceId)) === null ? null : 'The workspace is paused.';
    } catch {
      return 'It cannot be told whether the workspace is paused, so nothing is claimed.';
    }
  }

  /** Whether the agent is at work on another run, or a worker has not let go of one that was cancelled. */
  private async hold({ id, agentProfileId, status }: Run): Promise<readonly ClaimBlocker[]> {
    const held = await this.queue.heldBy(agentProfileId);
    if (held === null || (held.id === id && status !== 'queued')) return [];
    const detail =
      held.status === 'claimed'
        ? `The agent is at work on run ${held.id}.`
        : `The worker of run ${held.id}, which is ${held.status}, has not let go of it.`;
    return [blocker('agent_busy', detail, held.leaseExpiresAt)];
  }

  /** Whether it is the run's turn among those that wait for the agent. */
  private async turn(run: Run): Promise<readonly ClaimBlocker[]> {
    const now = this.clock.now();
    const blockers: ClaimBlocker[] = [];
    if (run.scheduledRetryAt !== null && run.scheduledRetryAt > now)
      blockers.push(blocker('retry_scheduled', 'The run waits to be tried again.', run.scheduledRetryAt));
    const reason = await this.staleness.reason(run);
    if (reason !== null) blockers.push(blocker('stale', `The next claim cancels the run: ${reason}.`));
    const first = await this.firstBefore(run, now);
    if (first !== null) blockers.push(blocker('agent_busy', `Run ${first.id} goes first.`));
    return blockers;
  }

  /** The run that a claim would take before this one. What is stale does not count: the claim cancels it on the way. */
  private async firstBefore(run: Run, now: number): Promise<Run | null> {
    let after: InstantPlace | null = null;
    for (;;) {
      const page: Run[] = await this.queue.dueBefore(run, now, { after, limit: PAGE });
      for (const older of page) if ((await this.staleness.reason(older)) === null) return older;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return null;
      after = { instant: last.requestedAt, id: last.id };
    }
  }
}

function blocker(code: ClaimBlockerCode, detail: string, until: number | null = null): ClaimBlocker {
  return { code, detail, until };
}
