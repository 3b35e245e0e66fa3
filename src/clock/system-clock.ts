import { Injectable } from '@nestjs/common';
import { Clock } from './clock.js';

/** The machine's own clock: the only place in `src` that reads the time. */
@Injectable()
export class SystemClock extends Clock {
  private correctionMs = 0;

  now(): number {
    return Date.now() + this.correctionMs;
  }

  /** Moves it by so many milliseconds, forwards or backwards, from now on. */
  correct(milliseconds: number): void {
    this.correctionMs += milliseconds;
  }
}
