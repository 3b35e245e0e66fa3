import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Channel } from '../database/channel.js';

/**
 * Says that it is worth looking, within this process and to the others that serve the same database. Only a hint: whoever
 * misses it finds out by looking anyway.
 */
@Injectable()
export abstract class Signal {
  private readonly emitter = new EventEmitter().setMaxListeners(0);
  private readonly topic: string;

  constructor(private readonly channel: Channel) {
    this.topic = new.target.name;
    channel.hear(this.topic, () => {
      this.emitter.emit('signal');
    });
  }

  send(): void {
    this.emitter.emit('signal');
    this.channel.tell(this.topic);
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
