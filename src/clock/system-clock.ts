import { Injectable } from '@nestjs/common';
import { Clock } from './clock.js';

/** The machine's own clock: the only place in `src` that reads the time. */
@Injectable()
export class SystemClock extends Clock {
  now(): number {
    return Date.now();
  }
}
