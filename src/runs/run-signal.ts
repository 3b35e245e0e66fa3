import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Says within this process that there may be something to claim. Only a hint: whoever misses it finds the row anyway. */
@Injectable()
export class RunSignal {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  send(): void {
    this.emitter.emit('run');
  }

  /** Calls `listener` at every signal until the answered function is called. */
  listen(listener: () => void): () => void {
    // In the listener's own context: what it does must not pass for a part of the request that sent the signal.
    const bound = AsyncResource.bind(listener);
    this.emitter.on('run', bound);
    return () => {
      this.emitter.off('run', bound);
    };
  }
}
