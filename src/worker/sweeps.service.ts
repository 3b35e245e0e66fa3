import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LeaseClock } from '../database/lease-clock.js';
import { DecisionsService } from '../decisions/decisions.service.js';
import { AgentRemoval } from '../office/agent-removal.service.js';
import { NoteSweep } from '../office/reactivity/note-sweep.js';
import { RecoverySweep } from '../office/recovery/recovery-sweep.js';
import { WORKER_LOST_LIMIT } from '../runs/claim.js';
import { ClaimsRepository } from '../runs/claims.repository.js';
import { RunEndings } from '../runs/run-endings.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';

/** How often what was left behind is looked for, in milliseconds. */
const SWEEP_MS = 5_000;

/** How many ended leases one sweep takes back. */
const BATCH = 200;

/** Makes good what somebody who died has left behind, and forgets what nobody asks for any more. */
@Injectable()
export class Sweeps implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Sweeps.name);
  private stop: (() => void) | null = null;
  private current: Promise<void> | null = null;
  private again = false;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly endings: RunEndings,
    private readonly notes: NoteSweep,
    private readonly removal: AgentRemoval,
    private readonly recovery: RecoverySweep,
    private readonly decisions: DecisionsService,
    private readonly leases: LeaseClock,
    private readonly resumed: ResumeSignal,
  ) {}

  onApplicationBootstrap(): void {
    const look = (): void => {
      this.look();
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
    await this.current;
  }

  /** Looks once. What fails is looked for again the next time, and keeps nothing else from being done. */
  async sweep(): Promise<void> {
    await this.attempt('ended leases', () => this.takeBackOverdue());
    await this.attempt('owed wakes', () => this.notes.sweep());
    await this.attempt('runs of deleted agents', () => this.removal.sweep());
    await this.attempt('unstarted tasks', () => this.recovery.sweep());
    await this.attempt('old decisions', () => this.decisions.forgetOld());
  }

  /** A call during a sweep makes it sweep once more: what it was called for may have been passed over already. */
  private look(): void {
    this.again = true;
    this.current ??= this.sweepWhileAsked().finally(() => {
      this.current = null;
    });
  }

  private async sweepWhileAsked(): Promise<void> {
    while (this.again && this.stop !== null) {
      this.again = false;
      await this.sweep();
    }
  }

  private async takeBackOverdue(): Promise<void> {
    const now = await this.leases.now();
    for (const { id } of await this.claims.overdue(now, BATCH)) {
      await this.endings.takeBack(id, now, WORKER_LOST_LIMIT);
    }
  }

  private async attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.error({ error: String(error) }, `a sweep for ${what} failed`);
    }
  }
}
