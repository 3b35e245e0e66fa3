import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';

/** The one source of secrets: bytes from the operating system's generator. */
@Injectable()
export class Randomness {
  bytes(count: number): Buffer {
    return randomBytes(count);
  }
}
