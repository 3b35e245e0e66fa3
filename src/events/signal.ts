import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';

/** Says within this process that it is worth looking. Only a hint: whoever misses it finds out by looking anyway. */
export abstract class Signal {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  send(): void {
    this.emitter.emit('signal');
  }

  /** Calls `listener` at every signal until the answered function is called. */
  listen(listener: () => void): () => void {
    // In the listener's own context: what it does must not pass for a part of the request that sent the signal.
    const bound = AsyncResource.bind(listener);
    this.emitter.on('signal', bound);
    return () => {
      this.emitter.off('signal', bound);
    };
  }
}
