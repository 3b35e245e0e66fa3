import type { Session } from './session.js';

/** Something that one transaction at a time can hold, until it ends or undoes the step in which it was taken. */
export class Lock {
  private waiting: (() => void)[] = [];
  private owner: Session | null = null;

  get holder(): Session | null {
    return this.owner;
  }

  /** @throws HeldElsewhere when another transaction holds it. */
  take(session: Session): void {
    if (this.owner === session) return;
    if (this.owner !== null) throw new HeldElsewhere(this);
    this.owner = session;
    session.took(this);
  }

  /** Makes the holder's changes everybody's. */
  publish(): void {
    // A bare lock stands for nothing but itself.
  }

  free(): void {
    this.owner = null;
    const woken = this.waiting;
    this.waiting = [];
    for (const wake of woken) wake();
  }

  freed(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }
}

/** The statement must wait: thrown before it has changed anything, so that it can be taken up again from its start. */
export class HeldElsewhere extends Error {
  constructor(readonly lock: Lock) {
    super('Another transaction holds it.');
  }
}
