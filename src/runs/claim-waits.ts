import { AsyncResource } from 'node:async_hooks';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { RevocationSignal } from '../auth/revocation-signal.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';
import type { Claim, ClaimRequest } from './claim.js';
import { ClaimIssuer } from './claim-issuer.js';
import { RunEndings } from './run-endings.js';
import { RunSignal } from './run-signal.js';
import { type ClaimingCaller, WaitingClaim } from './waiting-claim.js';

/** How long what no signal told of may lie unseen, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * Claims that wait until something comes.
 *
 * Whatever waits is tried for in rounds: at a signal, which is only a hint, and each second. A round goes from one claim
 * to the next in the order of their coming, so that all of them together use one connection at a time, and asks neither
 * twice for what it has just found to be nothing nor twice about one token.
 */
@Injectable()
export class ClaimWaits implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly waiting = new Set<WaitingClaim>();
  /** In the context of the process: what is done for all who wait must not pass for a part of one of their requests. */
  private readonly look = AsyncResource.bind(() => {
    this.signals += 1;
    this.looking ??= this.lookWhileSignalled().finally(() => {
      this.looking = null;
    });
  });
  private looking: Promise<void> | null = null;
  private signals = 0;
  private stop: (() => void) | null = null;
  private isStopping = false;

  constructor(
    private readonly issuer: ClaimIssuer,
    private readonly endings: RunEndings,
    private readonly signal: RunSignal,
    private readonly resumed: ResumeSignal,
    private readonly revoked: RevocationSignal,
  ) {}

  onApplicationBootstrap(): void {
    const timer = setInterval(this.look, LOOK_MS);
    const quiet = [this.signal, this.resumed, this.revoked].map((signal) => signal.listen(this.look));
    this.stop = () => {
      clearInterval(timer);
      for (const stop of quiet) stop();
    };
  }

  /** A server that stops claims nothing more, and keeps nobody waiting. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    this.stop?.();
    this.stop = null;
    for (const waiting of this.waiting) waiting.end();
    await this.looking;
  }

  /** Nothing, at once, when the server is stopping. */
  async claim(request: ClaimRequest, caller: ClaimingCaller): Promise<readonly Claim[]> {
    const { signals } = this;
    const claims = await this.claimFor(request, caller);
    const seconds = request.waitSeconds ?? 0;
    if (claims.length > 0 || seconds === 0 || !this.isWorthWaiting(caller)) return claims;
    const waiting = new WaitingClaim(request, caller, seconds);
    this.waiting.add(waiting);
    // It looked before the signal, or after: nobody can tell.
    if (signals !== this.signals) this.look();
    return waiting.answer.finally(() => this.waiting.delete(waiting));
  }

  /** What is claimed for a caller who has gone meanwhile is put back as if it had not been. */
  private async claimFor(request: ClaimRequest, caller: ClaimingCaller): Promise<readonly Claim[]> {
    if (!this.isWorthWaiting(caller)) return [];
    const claims = await this.issuer.claim(request);
    if (caller.gone?.aborted !== true) return claims;
    const { bearerTokenId } = request;
    for (const { run, claimToken } of claims)
      await this.endings.release(run.id, { claimToken, bearerTokenId });
    return [];
  }

  private isWorthWaiting({ gone }: ClaimingCaller): boolean {
    return !this.isStopping && gone?.aborted !== true;
  }

  private async lookWhileSignalled(): Promise<void> {
    for (let seen = 0; seen !== this.signals && this.waiting.size > 0;) {
      seen = this.signals;
      await this.round();
    }
  }

  private async round(): Promise<void> {
    const exhausted = new Set<string>();
    const confirmed = new Set<string>();
    for (const waiting of [...this.waiting]) {
      if (!waiting.isWanted) continue;
      const { request, caller } = waiting;
      await waiting.try(async () => {
        if (!confirmed.has(request.bearerTokenId)) await caller.confirm?.();
        confirmed.add(request.bearerTokenId);
        const scope = scopeOf(request);
        if (exhausted.has(scope) || !waiting.isWanted) return [];
        const claims = await this.claimFor(request, caller);
        if (claims.length === 0) exhausted.add(scope);
        return claims;
      });
    }
  }
}

/** What two claims must have in common for one to find nothing where the other has. */
function scopeOf({ workspaceId, agentProfileIds, launchableHere }: ClaimRequest): string {
  return JSON.stringify([workspaceId, agentProfileIds, launchableHere ?? false]);
}
