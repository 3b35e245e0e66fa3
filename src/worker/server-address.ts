import { Inject, Injectable } from '@nestjs/common';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';

/** Where agents that run here reach the server. Known for certain only once it listens. */
@Injectable()
export class ServerAddress {
  url: string;

  constructor(@Inject(REVEILLE_OPTIONS) options: ReveilleOptions) {
    this.url = options.baseUrl;
  }
}
