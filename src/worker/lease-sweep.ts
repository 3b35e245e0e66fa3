import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { LeaseClock } from '../database/lease-clock.js';
import { DEFAULT_LEASE_SECONDS, WORKER_LOST_LIMIT } from '../runs/claim.js';
import { ClaimsRepository } from '../runs/claims.repository.js';
import { RunEndings } from '../runs/run-endings.js';
import { IN_PROCESS } from './turn-runner.js';

/** How many ended leases one look takes back. */
const BATCH = 200;

/** Takes back runs whose holders have not been heard of in time. */
@Injectable()
export class LeaseSweep {
  private lastTickAt: number | null = null;
  private silentUntil = 0;

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly endings: RunEndings,
    private readonly leases: LeaseClock,
    private readonly clock: Clock,
  ) {}

  /**
   * Tells that time goes on, every `tickMs`. When it has stood still, as on a laptop that slept, nobody could be heard:
   * everybody gets one lease to speak up before anybody is judged.
   */
  tick(tickMs: number): void {
    const now = this.clock.now();
    if (this.lastTickAt !== null && now - this.lastTickAt > 2 * tickMs)
      this.silentUntil = now + DEFAULT_LEASE_SECONDS * 1000;
    this.lastTickAt = now;
  }

  async sweep(): Promise<void> {
    if (this.clock.now() < this.silentUntil) return;
    const now = await this.leases.now();
    for (const { id } of await this.claims.overdue(now, BATCH)) {
      await this.endings.takeBack(id, now, WORKER_LOST_LIMIT);
    }
  }

  /**
   * Takes back what the agents of an earlier process were at, however long their leases: for the only process of a
   * database, when it starts. A worker elsewhere outlives the server, and keeps what it holds.
   */
  async takeBackOwn(): Promise<void> {
    for (const { id } of await this.claims.heldBy(IN_PROCESS)) {
      await this.endings.takeBack(id, Infinity, WORKER_LOST_LIMIT);
    }
  }
}
