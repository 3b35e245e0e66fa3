import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';

const FRACTION_BYTES = 4;

/** The one source of secrets and of chance: the operating system's generator. */
@Injectable()
export class Randomness {
  bytes(count: number): Buffer {
    return randomBytes(count);
  }

  /** A number from 0 up to but not including 1, evenly spread. */
  fraction(): number {
    return this.bytes(FRACTION_BYTES).readUInt32BE() / 2 ** (8 * FRACTION_BYTES);
  }
}
