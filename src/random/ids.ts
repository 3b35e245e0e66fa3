import { Injectable } from '@nestjs/common';
import { V7Generator } from 'uuidv7';
import { Clock } from '../clock/clock.js';

/** Makes the ids of everything we store: UUIDv7, ascending within one process. */
@Injectable()
export class Ids {
  private readonly generator = new V7Generator();

  constructor(private readonly clock: Clock) {}

  next(): string {
    return this.generator.generateOrResetWithTs(this.clock.now()).toString();
  }
}
