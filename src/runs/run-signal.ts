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
    this.emitter.on('run', listener);
    return () => {
      this.emitter.off('run', listener);
    };
  }
}
