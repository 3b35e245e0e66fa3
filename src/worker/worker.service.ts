import { hostname } from 'node:os';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { Ids } from '../random/ids.js';
import { RunSignal } from '../runs/run-signal.js';
import { RunsService } from '../runs/runs.service.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';
import { IN_PROCESS, TurnRunner } from './turn-runner.js';

/** How long work that nobody signalled may lie unseen, in milliseconds. */
const POLL_MS = 1_000;

/** Runs agents in this process, up to a number at once. */
@Injectable()
export class WorkerService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(WorkerService.name);
  private readonly turns = new Set<Promise<void>>();
  private readonly workerId: string;
  private stop: (() => void) | null = null;
  private claiming: Promise<void> | null = null;
  private again = false;

  constructor(
    private readonly runs: RunsService,
    private readonly runner: TurnRunner,
    private readonly signal: RunSignal,
    private readonly resumed: ResumeSignal,
    ids: Ids,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {
    // A name of its own at every start: a restarted server is not the one that held the old claims.
    this.workerId = `${hostname()}:${ids.next()}`;
  }

  onApplicationBootstrap(): void {
    if (!this.options.worker) return;
    const look = (): void => {
      this.look();
    };
    const poll = setInterval(look, POLL_MS);
    const quiet = [this.signal, this.resumed].map((signal) => signal.listen(look));
    this.stop = () => {
      clearInterval(poll);
      for (const stop of quiet) stop();
    };
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop?.();
    this.stop = null;
    await this.claiming;
    this.runner.drain();
    await Promise.all(this.turns);
  }

  /** Looks for work; a call during a look makes it look once more. */
  private look(): void {
    this.again = true;
    this.claiming ??= this.claimWhileAsked().finally(() => {
      this.claiming = null;
    });
  }

  private async claimWhileAsked(): Promise<void> {
    while (this.again && this.stop !== null) {
      this.again = false;
      await this.claimFree().catch((error: unknown) => {
        this.logger.warn({ error: String(error) }, 'runs could not be claimed');
      });
    }
  }

  private async claimFree(): Promise<void> {
    const free = this.options.workerConcurrency - this.turns.size;
    if (free <= 0) return;
    const claims = await this.runs.claim({
      workerId: this.workerId,
      bearerTokenId: IN_PROCESS,
      workspaceId: null,
      agentProfileIds: null,
      launchableHere: true,
      max: free,
    });
    for (const claim of claims) {
      const turn = this.runner.run(claim).finally(() => {
        this.turns.delete(turn);
        this.look();
      });
      this.turns.add(turn);
    }
  }
}
