import { AsyncLocalStorage } from 'node:async_hooks';
import type { Scheduler } from 'fast-check';
import type { FakeClock } from '../../src/testing.js';
import { CANCELED, DatabaseError } from './store/database-error.js';
import type { Steps } from './store/session.js';

/** Who is acting. One for all: it is carried along by every promise. */
const CALLERS = new AsyncLocalStorage<string>();

/** Hands out the turns: every statement of everybody waits until fast-check picks it. */
export class Turns implements Steps {
  /** The statements by whose they were, in the order in which they were carried out. */
  readonly order: string[] = [];
  /** How many statements are left until the one that the database refuses. */
  private readonly left = new Map<string, number>();
  private readonly refused = new Map<string, string>();
  private watch: () => void = () => undefined;
  private isOver = false;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly clock: FakeClock,
  ) {}

  get caller(): string {
    return CALLERS.getStore() ?? 'nobody';
  }

  /** Calls `watch` after every step. */
  watched(watch: () => void): void {
    this.watch = watch;
  }

  /** From now on nobody waits for a turn. */
  end(): void {
    this.isOver = true;
  }

  /** Does work whose statements are the caller's; the database refuses one of them when its number is given. */
  as<T>(caller: string, refused: number | null, work: () => Promise<T>): Promise<T> {
    if (refused !== null) this.left.set(caller, refused);
    return CALLERS.run(caller, work);
  }

  /** Time goes on from turn to turn, so that it matters when a wake reads the clock. */
  async turn(what: string): Promise<void> {
    if (this.isOver) return;
    const label = `${this.caller}: ${what}`;
    await this.scheduler.schedule(Promise.resolve(), label);
    this.order.push(label);
    this.clock.advance(1);
  }

  failure(what: string): Error | null {
    const left = this.left.get(this.caller);
    if (left === undefined) return null;
    this.left.set(this.caller, left - 1);
    if (left !== 1) return null;
    this.refused.set(this.caller, what);
    return new DatabaseError(CANCELED);
  }

  /** The statement that the database refused to the caller, if any. */
  refusedTo(caller: string): string | null {
    return this.refused.get(caller) ?? null;
  }

  done(): void {
    this.watch();
  }
}
