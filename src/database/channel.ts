/**
 * Tells the other processes that serve the same database what is worth looking at. Only ever a hint: it may be lost, and
 * whoever hears nothing finds out by looking anyway.
 */
export abstract class Channel {
  /** Tells all the others, soon. To be called after the commit of what is told. */
  abstract tell(topic: string, detail?: string): void;

  /** Calls `listener` with the detail whenever another process tells of the topic, and with `''` when some may have been missed. */
  abstract hear(topic: string, listener: (detail: string) => void): void;
}

/** For a process that has its database to itself. */
export class SilentChannel extends Channel {
  tell(): void {
    // Nobody is there.
  }

  hear(): void {
    // Nobody speaks.
  }
}
