import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LeaseClock } from '../database/lease-clock.js';
import { AgentRemoval } from '../office/agent-removal.service.js';
import { NoteSweep } from '../office/reactivity/note-sweep.js';
import { RecoverySweep } from '../office/recovery/recovery-sweep.js';
import { WORKER_LOST_LIMIT } from '../runs/claim.js';
import { ClaimsRepository } from '../runs/claims.repository.js';
import { RunEndings } from '../runs/run-endings.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';
import { Retention } from './retention.js';
import { Sweep } from './sweep.js';

/** How often what was left behind is looked for, in milliseconds. */
const SWEEP_MS = 5_000;

/** How many ended leases one sweep takes back. */
const BATCH = 200;

/** Makes good what somebody who died has left behind, and forgets what nobody asks for any more. */
@Injectable()
export class Sweeps implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Sweeps.name);
  /** Each goes at its own pace: a thousand wakes that waited out a pause keep no lease from ending. */
  private readonly sweeps: readonly Sweep[];
  private stop: (() => void) | null = null;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly endings: RunEndings,
    private readonly leases: LeaseClock,
    private readonly resumed: ResumeSignal,
    notes: NoteSweep,
    removal: AgentRemoval,
    recovery: RecoverySweep,
    retention: Retention,
  ) {
    this.sweeps = [
      this.sweepFor('ended leases', () => this.takeBackOverdue()),
      this.sweepFor('owed wakes', (isStopping) => notes.sweep(isStopping)),
      this.sweepFor('remains of deleted agents', () => removal.sweep()),
      this.sweepFor('unstarted tasks', () => recovery.sweep()),
      this.sweepFor('old decisions', () => retention.forgetDecisions()),
      this.sweepFor('old events', () => retention.forgetEvents()),
      this.sweepFor('old runs', (isStopping) => retention.forgetRunsHourly(isStopping)),
    ];
  }

  onApplicationBootstrap(): void {
    const look = (): void => {
      for (const sweep of this.sweeps) sweep.request();
    };
    const timer = setInterval(look, SWEEP_MS);
    const quiet = this.resumed.listen(look);
    this.stop = () => {
      clearInterval(timer);
      quiet();
    };
  }

  async onModuleDestroy(): Promise<void> {
    this.stop?.();
    this.stop = null;
    await Promise.all(this.sweeps.map((sweep) => sweep.stop()));
  }

  /** Looks once for everything, one after the other. */
  async sweep(): Promise<void> {
    for (const sweep of this.sweeps) await sweep.once();
  }

  /** What fails is looked for again the next time, and keeps nothing else from being done. */
  private sweepFor(what: string, work: (isStopping: () => boolean) => Promise<void>): Sweep {
    return new Sweep(work, (error) => {
      this.logger.error({ error: String(error) }, `a sweep for ${what} failed`);
    });
  }

  private async takeBackOverdue(): Promise<void> {
    const now = await this.leases.now();
    for (const { id } of await this.claims.overdue(now, BATCH)) {
      await this.endings.takeBack(id, now, WORKER_LOST_LIMIT);
    }
  }
}
