import { Injectable } from '@nestjs/common';
import type { InstantPlace } from '../database/listing.js';
import { NotFoundError } from '../errors/reveille-error.js';
import type { EnsuredSession } from '../sessions/office-sessions.js';
import {
  type Claim,
  type ClaimReport,
  type ClaimRequest,
  type ClaimedWake,
  type Heartbeat,
} from './claim.js';
import { ClaimWaits } from './claim-waits.js';
import { ClaimsRepository } from './claims.repository.js';
import { RunEndings, type TurnResult } from './run-endings.js';
import type { TurnFailure } from './run-failures.js';
import { RunLeases } from './run-leases.js';
import type { Run } from './run.schema.js';
import { RunSessions } from './run-sessions.js';
import { RunWakes } from './run-wakes.js';
import { type RunFilter, RunsRepository } from './runs.repository.js';
import type { ClaimingCaller } from './waiting-claim.js';

/**
 * Runs: reading them, claiming them, and reporting what became of them.
 *
 * Every report throws a NotFoundError for an unknown run, and a ClaimLostError, having changed nothing, when the claim
 * that is shown does not hold it.
 */
@Injectable()
export class RunsService {
  constructor(
    private readonly repository: RunsRepository,
    private readonly claims: ClaimsRepository,
    private readonly waits: ClaimWaits,
    private readonly leases: RunLeases,
    private readonly sessions: RunSessions,
    private readonly endings: RunEndings,
    private readonly wakes: RunWakes,
  ) {}

  /** @throws NotFoundError */
  async get(id: string): Promise<Run> {
    const run = await this.repository.find(id);
    if (run === null) throw new NotFoundError('run');
    return run;
  }

  /** Newest first. */
  list(filter: RunFilter, after: InstantPlace | null, limit: number): Promise<readonly Run[]> {
    return this.repository.page(filter, after, limit);
  }

  /** Every wake that the run answers, oldest first, at most 100. */
  wakesOf(run: Run): Promise<readonly ClaimedWake[]> {
    return this.wakes.of(run);
  }

  /** Those of the agents that are at work. */
  busyAgents(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.claims.busyAgents(ids);
  }

  /** Empty when nothing came, and at once when the server is stopping. */
  claim(request: ClaimRequest, caller: ClaimingCaller = {}): Promise<readonly Claim[]> {
    return this.waits.claim(request, caller);
  }

  /** Keeps the run, and says whether its turn must stop. */
  heartbeat(id: string, report: ClaimReport, leaseSeconds?: number): Promise<Heartbeat> {
    return this.leases.heartbeat(id, report, leaseSeconds);
  }

  /** The session of the run's turn; null for a run that is about no task of ours. */
  async openSession(
    id: string,
    report: ClaimReport,
    executionProfileId: string,
  ): Promise<EnsuredSession | null> {
    return this.sessions.open(await this.get(id), report, executionProfileId);
  }

  finish(id: string, report: ClaimReport, result: TurnResult): Promise<Run> {
    return this.endings.finish(id, report, result);
  }

  fail(id: string, report: ClaimReport, failure: TurnFailure): Promise<Run> {
    return this.endings.fail(id, report, failure);
  }

  release(id: string, report: ClaimReport): Promise<Run> {
    return this.endings.release(id, report);
  }

  /** A person wants the run no more. @throws IllegalTransitionError for one that has ended. */
  cancel(id: string, reason: string): Promise<Run> {
    return this.endings.cancel(id, reason);
  }
}
