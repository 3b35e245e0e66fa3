import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LeaseClock } from '../database/lease-clock.js';
import { DecisionsService } from '../decisions/decisions.service.js';
import { Reactivity } from '../office/reactivity/reactivity.service.js';
import { WORKER_LOST_LIMIT } from '../runs/claim.js';
import { ClaimsRepository } from '../runs/claims.repository.js';
import { RunEndings } from '../runs/run-endings.js';

/** How often what was left behind is looked for, in milliseconds. */
const SWEEP_MS = 5_000;

/** How many ended leases one sweep takes back. */
const BATCH = 200;

/** Makes good what somebody who died has left behind, and forgets what nobody asks for any more. */
@Injectable()
export class Sweeps implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Sweeps.name);
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<void> | null = null;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly endings: RunEndings,
    private readonly reactivity: Reactivity,
    private readonly decisions: DecisionsService,
    private readonly leases: LeaseClock,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.current ??= this.sweep().finally(() => {
        this.current = null;
      });
    }, SWEEP_MS);
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.current;
  }

  /** Looks once. What fails is looked for again the next time, and keeps nothing else from being done. */
  async sweep(): Promise<void> {
    await this.attempt('ended leases', () => this.takeBackOverdue());
    await this.attempt('owed wakes', () => this.reactivity.sweep());
    await this.attempt('old decisions', () => this.decisions.forgetOld());
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
