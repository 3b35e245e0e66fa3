import { Channel } from './channel.js';
import type { PostgresLine } from './postgres-line.js';

const CHANNEL = 'reveille';

/** How long hints are gathered before they are sent together, in milliseconds. */
const GATHER_MS = 10;

/** How many bytes of hints one notification carries: PostgreSQL takes no 8 000. */
const PAYLOAD_BYTES = 7_000;

/** Hints by LISTEN and NOTIFY, on the line of our own. */
export class PostgresChannel extends Channel {
  private readonly listeners = new Map<string, ((detail: string) => void)[]>();
  private readonly pending = new Set<string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly line: PostgresLine) {
    super();
    line.listen(CHANNEL, {
      connected: () => {
        for (const heard of [...this.listeners.values()].flat()) heard('');
      },
      notified: (payload) => {
        this.pass(payload);
      },
    });
  }

  tell(topic: string, detail = ''): void {
    this.pending.add(`${topic}:${detail}`);
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.flush();
    }, GATHER_MS).unref();
  }

  hear(topic: string, listener: (detail: string) => void): void {
    this.listeners.set(topic, [...(this.listeners.get(topic) ?? []), listener]);
  }

  private pass(payload: string): void {
    for (const hint of payload.split('\n')) {
      const [topic = '', ...detail] = hint.split(':');
      for (const heard of this.listeners.get(topic) ?? []) heard(detail.join(':'));
    }
  }

  /** What does not fit is not sent. */
  private flush(): void {
    let payload = '';
    for (const hint of this.pending) {
      if (Buffer.byteLength(payload) + Buffer.byteLength(hint) < PAYLOAD_BYTES)
        payload += (payload === '' ? '' : '\n') + hint;
    }
    this.pending.clear();
    // Unheard hints are found out by looking.
    if (payload !== '')
      this.line.query('SELECT pg_notify($1, $2)', [CHANNEL, payload]).catch(() => undefined);
  }
}
