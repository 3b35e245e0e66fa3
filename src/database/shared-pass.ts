/**
 * Work that serves everybody who asked for it before it began: never twice at once, and never a pass for each caller.
 *
 * A caller inside a unit of work must not wait for one: the pass may itself wait for that very unit.
 */
export class SharedPass {
  private current: Promise<void> | null = null;
  private queued: Promise<void> | null = null;

  constructor(private readonly work: () => Promise<void>) {}

  /** Resolves, or rejects, with a pass that has begun after the call. */
  run(): Promise<void> {
    if (this.current === null) return this.start();
    // The pass under way may have looked before the caller's commit; the one after it has not.
    this.queued ??= this.current
      .catch(() => undefined)
      .then(() => {
        this.queued = null;
        return this.start();
      });
    return this.queued;
  }

  /** Resolves when no pass is under way or waiting. Never rejects. */
  async settled(): Promise<void> {
    await (this.queued ?? this.current)?.catch(() => undefined);
  }

  private start(): Promise<void> {
    this.current = this.work().finally(() => {
      this.current = null;
    });
    return this.current;
  }
}
