/** Something that is looked for again and again, never twice at once. */
export class Sweep {
  private current: Promise<void> | null = null;
  private again = false;
  private stopping = false;

  /**
   * `work` should end early when it finds that the sweep is stopping. What it throws goes to `failed`. `inTurn` decides
   * whether it is this process's turn when nobody waits for the look.
   */
  constructor(
    private readonly work: (isStopping: () => boolean) => Promise<void>,
    private readonly failed: (error: unknown) => void,
    private readonly inTurn: (look: () => Promise<void>) => Promise<void>,
  ) {}

  /** Looks soon; once more when it is looking already, because what is asked for may have been passed over. */
  request(): void {
    this.again = true;
    this.current ??= this.whileAsked().finally(() => {
      this.current = null;
    });
  }

  /** Looks once, to the end, for a caller who waits for it. */
  async once(isStopping = (): boolean => false): Promise<void> {
    try {
      await this.work(isStopping);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Looks no more, once the present look has ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.current;
  }

  private async whileAsked(): Promise<void> {
    while (this.again && !this.stopping) {
      this.again = false;
      await this.inTurn(() => this.once(() => this.stopping));
    }
  }
}
