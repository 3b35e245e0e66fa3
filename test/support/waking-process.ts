import type { Decision } from '../../src/scheduler/decision.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import { AskedProcess } from './asked-process.js';

/** Another process that serves the same database, built from the same sources. */
export class WakingProcess {
  private constructor(private readonly process: AskedProcess) {}

  static async start(databaseUrl: string): Promise<WakingProcess> {
    return new WakingProcess(await AskedProcess.start('waking-process.child.mjs', [databaseUrl]));
  }

  /** Has it ask for all the wakes at once, at the given instant. */
  async wake(now: number, wakes: readonly WakeRequest[]): Promise<readonly Decision[]> {
    const { decisions } = await this.process.ask<{ decisions: readonly Decision[] }>({ now, wakes });
    return decisions;
  }

  stop(): Promise<void> {
    return this.process.stop();
  }
}
