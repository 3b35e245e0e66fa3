import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Dialect } from './dialect.js';
import { Transactions } from './transactions.js';

/**
 * The clock by which leases are set and judged: the database's own on PostgreSQL, where several machines must agree
 * on who is late, and this process's on SQLite, where there is only one.
 */
export abstract class LeaseClock {
  abstract now(): Promise<number>;
}

@Injectable()
export class DatabaseLeaseClock extends LeaseClock {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly clock: Clock,
  ) {
    super();
  }

  async now(): Promise<number> {
    return (await this.dialect.now(this.transactions.reading())) ?? this.clock.now();
  }
}
