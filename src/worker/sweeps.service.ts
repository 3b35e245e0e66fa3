import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ProcessLock } from '../database/process-lock.js';
import { AgentRemoval } from '../office/agent-removal.service.js';
import { NoteSweep } from '../office/reactivity/note-sweep.js';
import { RecoverySweep } from '../office/recovery/recovery-sweep.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';
import { LeaseSweep } from './lease-sweep.js';
import { Retention } from './retention.js';
import { Sweep } from './sweep.js';

/** How often what was left behind is looked for, in milliseconds. */
const SWEEP_MS = 5_000;

/** Makes good what somebody who died has left behind, and forgets what nobody asks for any more. */
@Injectable()
export class Sweeps
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly logger = new Logger(Sweeps.name);
  /** Each goes at its own pace: a thousand wakes that waited out a pause keep no lease from ending. */
  private readonly sweeps: readonly Sweep[];
  private stop: (() => void) | null = null;

  constructor(
    private readonly lock: ProcessLock,
    private readonly leases: LeaseSweep,
    private readonly resumed: ResumeSignal,
    notes: NoteSweep,
    removal: AgentRemoval,
    recovery: RecoverySweep,
    retention: Retention,
  ) {
    this.sweeps = [
      this.sweepFor('ended leases', () => leases.sweep()),
      this.sweepFor('owed wakes', (isStopping) => notes.sweep(isStopping)),
      this.sweepFor('remains of deleted agents', () => removal.sweep()),
      this.sweepFor('unstarted tasks', () => recovery.sweep()),
      this.sweepFor('old decisions', () => retention.forgetDecisions()),
      this.sweepFor('old events', () => retention.forgetEvents()),
      this.sweepFor('old runs', (isStopping) => retention.forgetRunsHourly(isStopping)),
    ];
  }

  /** Before anything is claimed anew. */
  async onModuleInit(): Promise<void> {
    if (this.lock.isAlone) await this.leases.takeBackOwn();
  }

  onApplicationBootstrap(): void {
    const look = (): void => {
      for (const sweep of this.sweeps) sweep.request();
    };
    this.leases.tick(SWEEP_MS);
    const timer = setInterval(() => {
      this.leases.tick(SWEEP_MS);
      look();
    }, SWEEP_MS);
    const quiet = this.resumed.listen(look);
    this.stop = () => {
      clearInterval(timer);
      quiet();
    };
  }

  /** Waits for nothing: a look that takes its time must not keep others from hearing that the server stops. */
  onModuleDestroy(): void {
    this.stop?.();
    this.stop = null;
    for (const sweep of this.sweeps) void sweep.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.sweeps.map((sweep) => sweep.stop()));
  }

  /** Looks once for everything, one after the other, whoever else is looking. */
  async sweep(): Promise<void> {
    for (const sweep of this.sweeps) await sweep.once();
  }

  /**
   * Of several processes one at a time looks. What fails is looked for again the next time, and keeps nothing else from
   * being done.
   */
  private sweepFor(what: string, work: (isStopping: () => boolean) => Promise<void>): Sweep {
    return new Sweep(
      work,
      (error) => {
        this.logger.error({ error: String(error) }, `a sweep for ${what} failed`);
      },
      (look) => this.lock.tryDo(what, look),
    );
  }
}
