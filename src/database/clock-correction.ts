import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { SystemClock } from '../clock/system-clock.js';
import { Dialect } from './dialect.js';
import { Transactions } from './transactions.js';

/** How often the clocks are compared, in milliseconds. */
const COMPARE_MS = 60_000;

/** How far apart they may be, in milliseconds: a clock that is put right at every whim would run backwards now and then. */
const TOLERANCE_MS = 100;

/** How often the database is asked for one comparison: the quickest answer says most. */
const SAMPLES = 3;

/**
 * Makes this process's clock agree with the database's on PostgreSQL, so that several processes measure the same windows.
 * A clock that a host brings along is its own affair.
 */
@Injectable()
export class ClockCorrection implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(ClockCorrection.name);
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly clock: Clock,
  ) {}

  async onModuleInit(): Promise<void> {
    if (!(this.clock instanceof SystemClock) || this.dialect.name === 'sqlite') return;
    const { clock } = this;
    await this.compare(clock);
    this.timer = setInterval(() => void this.compare(clock), COMPARE_MS).unref();
  }

  onModuleDestroy(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  private async compare(clock: SystemClock): Promise<void> {
    try {
      const offset = await this.offset();
      if (Math.abs(offset) <= TOLERANCE_MS) return;
      clock.correct(offset);
      this.logger.warn({ offset_ms: offset }, 'the clock is put right by the database’s');
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'the clock could not be compared with the database’s');
    }
  }

  /** By how much the database is ahead, in milliseconds. */
  private async offset(): Promise<number> {
    let best = { took: Infinity, offset: 0 };
    for (let sample = 0; sample < SAMPLES; sample++) {
      const asked = this.clock.now();
      const there = await this.dialect.now(this.transactions.reading());
      const took = this.clock.now() - asked;
      if (there !== null && took < best.took) best = { took, offset: Math.round(there - asked - took / 2) };
    }
    return best.offset;
  }
}
