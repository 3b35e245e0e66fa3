import { Injectable } from '@nestjs/common';
import { Transactions } from '../database/transactions.js';
import { RunSchema } from './run.schema.js';

/** The statements behind the gauges. */
@Injectable()
export class RunGauges {
  constructor(private readonly transactions: Transactions) {}

  async counts(): Promise<{ queued: number; claimed: number }> {
    const reading = this.transactions.reading();
    return {
      queued: await reading.countBy(RunSchema, { status: 'queued' }),
      claimed: await reading.countBy(RunSchema, { status: 'claimed' }),
    };
  }

  async oldestQueuedAt(): Promise<number | null> {
    return this.transactions
      .reading()
      .minimum(RunSchema, 'requestedAt', { status: 'queued' })
      .then(numberOrNull);
  }
}

function numberOrNull(value: number | string | null): number | null {
  return value === null ? null : Number(value);
}
