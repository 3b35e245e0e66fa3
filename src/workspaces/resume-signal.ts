import { Injectable } from '@nestjs/common';
import { Signal } from '../events/signal.js';

/** A workspace or an agent goes on: wakes that were held back may be decided, and runs claimed. */
@Injectable()
export class ResumeSignal extends Signal {}
