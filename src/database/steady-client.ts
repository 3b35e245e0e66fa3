import { Client, type ClientConfig } from 'pg';

/**
 * A connection that may break at any moment without ending the process. Between the pool that hands it out and TypeORM
 * that takes it, nobody listens for its errors; whoever uses it learns of them by the failure of its next statement.
 */
export class SteadyClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
