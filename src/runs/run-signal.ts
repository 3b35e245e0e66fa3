import { Injectable } from '@nestjs/common';
import { Signal } from '../events/signal.js';

/** There may be something to claim. */
@Injectable()
export class RunSignal extends Signal {}
