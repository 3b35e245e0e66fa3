import type { Claim, ClaimRequest } from './claim.js';

/** What a claim must know of whoever made it while it takes its time. */
export interface ClaimingCaller {
  /** Aborted when nobody listens for the answer any more. Default: somebody does, however long it takes. */
  readonly gone?: AbortSignal | undefined;
  /** Rejects when the caller may claim no longer; the claim rejects with the same. Default: the caller may. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** A claim that found nothing and waits: until it is given something, until its time is up, or until nobody wants it. */
export class WaitingClaim {
  readonly answer: Promise<readonly Claim[]>;
  private resolve: (claims: readonly Claim[]) => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;
  private isTried = false;
  private isOver = false;

  /**
   * Waits for so many seconds by a timer, and not until an instant by the clock: how long a call is held open is a matter
   * of the machine's time alone, and a clock that stands still or is set back must not keep it for ever.
   */
  constructor(
    readonly request: ClaimRequest,
    readonly caller: ClaimingCaller,
    seconds: number,
  ) {
    const end = (): void => {
      this.end();
    };
    const timer = setTimeout(end, seconds * 1000);
    caller.gone?.addEventListener('abort', end);
    this.answer = new Promise<readonly Claim[]>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    }).finally(() => {
      clearTimeout(timer);
      caller.gone?.removeEventListener('abort', end);
    });
  }

  /** Whether there is still something to try for. */
  get isWanted(): boolean {
    return !this.isOver;
  }

  /** Answers with what `attempt` brings, or rejects with what it throws; goes on waiting when it brings nothing. */
  async try(attempt: () => Promise<readonly Claim[]>): Promise<void> {
    this.isTried = true;
    try {
      const claims = await attempt();
      if (claims.length > 0)
        this.settle(() => {
          this.resolve(claims);
        });
    } catch (error) {
      this.settle(() => {
        this.reject(error);
      });
    } finally {
      this.isTried = false;
    }
    if (this.isOver) this.resolve([]);
  }

  /** Waits no longer. One that is just being tried for answers what comes of that. */
  end(): void {
    this.isOver = true;
    if (!this.isTried) this.resolve([]);
  }

  private settle(how: () => void): void {
    this.isOver = true;
    how();
  }
}
