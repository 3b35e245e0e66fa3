import { HeldElsewhere, Lock } from './lock.js';
import type { Session } from './session.js';

/** A row as everybody sees it, and as whoever holds it does. */
export class Row<T> extends Lock {
  /** What the holder sees; null when it has deleted the row. */
  private held: T | null;

  constructor(
    private committed: T | null,
    private readonly published: (version: T | null) => void,
  ) {
    super();
    this.held = committed;
  }

  get draft(): T | null {
    return this.held;
  }

  override take(session: Session): void {
    const isMine = this.holder === session;
    super.take(session);
    if (!isMine) this.held = this.committed;
  }

  override publish(): void {
    this.committed = this.held;
    this.published(this.committed);
  }

  /** Changes what the holder sees. */
  write(session: Session, version: T | null): void {
    const before = this.held;
    session.undoable(() => {
      this.held = before;
    });
    this.held = version;
  }

  seenBy(session: Session | null): T | null {
    return this.isHeldBy(session) ? this.held : this.committed;
  }

  /**
   * Whether the row stands in the way of another one. How an open transaction ends decides that of a row which it has
   * changed; one that it has only locked stays as it is.
   *
   * @throws HeldElsewhere when that is not decided yet.
   */
  isClash(session: Session, clashes: (version: T) => boolean): boolean {
    const has = (version: T | null) => version !== null && clashes(version);
    const isOpen = this.holder !== null && this.holder !== session && this.held !== this.committed;
    if (isOpen && (has(this.committed) || has(this.held))) throw new HeldElsewhere(this);
    return has(this.seenBy(session));
  }

  private isHeldBy(session: Session | null): boolean {
    return session !== null && this.holder === session;
  }
}
