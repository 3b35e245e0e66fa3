import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { type Claim, type ClaimReport, DEFAULT_LEASE_SECONDS } from '../runs/claim.js';
import { ClaimLostError } from '../runs/run.errors.js';
import { RunInterrupts } from '../runs/run-interrupts.js';
import { RunsService } from '../runs/runs.service.js';
import { CommandExecutor, type RunningProcess } from './executors/command.executor.js';
import { ServerAddress } from './server-address.js';
import { type TurnReport, type TurnStop, reportOf, turnEnvironment, turnInput } from './turn.js';

/** How often a turn says that it is still at work, in milliseconds: a third of its lease, so that one may be missed. */
const HEARTBEAT_MS = (DEFAULT_LEASE_SECONDS * 1000) / 3;

/** How long after the last heartbeat that was heard a turn must end: before its lease does, with the grace to spare. */
const UNHEARD_MS = 1.5 * HEARTBEAT_MS;

/** How long a program that was asked to end may take, in milliseconds. */
const GRACE_MS = 5_000;

/** What the in-process worker is called as the holder of its claims: it needs no bearer token. */
export const IN_PROCESS = 'in-process';

/** Runs one claimed run from session to report. */
@Injectable()
export class TurnRunner {
  private readonly logger = new Logger(TurnRunner.name);
  private readonly turns = new Set<(stop: TurnStop, graceMs: number) => void>();
  private draining = false;

  constructor(
    private readonly runs: RunsService,
    private readonly interrupts: RunInterrupts,
    private readonly executor: CommandExecutor,
    private readonly address: ServerAddress,
    private readonly clock: Clock,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {}

  /** Resolves when the run is reported, or its claim is known to be lost. Never rejects. */
  async run(claim: Claim): Promise<void> {
    const report = { claimToken: claim.claimToken, bearerTokenId: IN_PROCESS };
    const { id } = claim.run;
    try {
      await this.report(id, report, await this.turn(claim, report));
    } catch (error) {
      // Whatever it was, the lease ends and the run is taken up again.
      if (error instanceof ClaimLostError) this.logger.log({ run_id: id }, 'a turn ended after its claim');
      else this.logger.error({ run_id: id, error: String(error) }, 'a turn could not be reported');
    }
  }

  /** Asks every turn to end, because the server does; one that is about to begin does not. */
  drain(): void {
    this.draining = true;
    for (const stop of this.turns) stop('draining', this.options.drainSeconds * 1000);
  }

  private async turn(claim: Claim, report: ClaimReport): Promise<TurnReport> {
    const opened = await this.runs.openSession(claim.run.id, report, claim.agent.executionProfileId);
    if (this.draining) return { kind: 'release' };
    const session = opened?.session ?? null;
    const process = this.executor.start({
      agent: claim.agent,
      input: turnInput(claim, session),
      environment: turnEnvironment(claim, session, this.address.url),
    });
    return this.supervise(claim, report, process);
  }

  private async supervise(claim: Claim, report: ClaimReport, process: RunningProcess): Promise<TurnReport> {
    let stopped: TurnStop | null = null;
    const stop = (reason: TurnStop, graceMs = GRACE_MS): void => {
      if (stopped !== null) return;
      stopped = reason;
      process.end(graceMs);
    };
    let heardAt = claim.run.claimedAt ?? this.clock.now();
    let lastAskedAt = heardAt;
    const ask = (): void => {
      const askedAt = this.clock.now();
      // A machine that slept has asked nobody: whether the claim still holds, the answer will tell.
      if (askedAt - lastAskedAt > 2 * HEARTBEAT_MS) heardAt = askedAt;
      lastAskedAt = askedAt;
      // Another server takes the run back when this one cannot be heard: two processes must not share a conversation.
      if (askedAt - heardAt >= UNHEARD_MS) stop('unheard');
      void this.askHowItStands(claim.run.id, report, stop).then((isHeard) => {
        if (isHeard) heardAt = Math.max(heardAt, askedAt);
      });
    };
    const heartbeat = setInterval(ask, HEARTBEAT_MS);
    const overtime = setTimeout(() => {
      stop('overtime');
    }, claim.agent.maxRunSeconds * 1000);
    const quiet = this.interrupts.listen(claim.run.id, ask);
    this.turns.add(stop);
    try {
      return reportOf(await process.ended, stopped);
    } finally {
      clearInterval(heartbeat);
      clearTimeout(overtime);
      quiet();
      this.turns.delete(stop);
    }
  }

  /** Answers whether the heartbeat was heard. */
  private async askHowItStands(
    id: string,
    report: ClaimReport,
    stop: (reason: TurnStop) => void,
  ): Promise<boolean> {
    try {
      const { stopReason } = await this.runs.heartbeat(id, report);
      if (stopReason !== null) stop(stopReason);
      return true;
    } catch (error) {
      if (error instanceof ClaimLostError) stop('cancelled');
      else this.logger.warn({ run_id: id, error: String(error) }, 'a heartbeat was not heard');
      return false;
    }
  }

  private async report(id: string, claim: ClaimReport, turn: TurnReport): Promise<void> {
    switch (turn.kind) {
      case 'finish':
        await this.runs.finish(id, claim, { outputSummary: turn.outputSummary });
        break;
      case 'fail':
        await this.runs.fail(id, claim, { error: turn.error });
        break;
      case 'release':
        await this.runs.release(id, claim);
        break;
    }
  }
}
