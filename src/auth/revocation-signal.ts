import { Injectable } from '@nestjs/common';
import { Signal } from '../events/signal.js';

/** Tokens have been revoked: whoever keeps a connection open by one should ask whether it still opens anything. */
@Injectable()
export class RevocationSignal extends Signal {}
