import { AsyncResource } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import { Mutex } from 'async-mutex';
import type { ClientConfig, QueryResultRow } from 'pg';
import { SteadyClient } from './steady-client.js';

/** How long after the loss of the line another is tried, in milliseconds. */
const RECONNECT_MS = 1_000;

/** How often a quiet line is asked whether it still stands, in milliseconds: one that is half open says nothing by itself. */
const ALIVE_MS = 15_000;

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 5_000;

/** What becomes known on the line. */
export interface LineListener {
  /** The line stands, for the first time or again. */
  readonly connected: () => void;
  /** Another process has sent a notification. */
  readonly notified: (payload: string) => void;
}

/** The line is down, or went down before the answer came. */
class LineDownError extends Error {
  constructor() {
    super('The line to the database is down.');
  }
}

/**
 * One connection of this process's own, beside the pool: for notifications and for locks that are held by a session. It
 * is kept up as long as the process lives, and nothing depends on its being up.
 */
export class PostgresLine {
  private readonly logger = new Logger(PostgresLine.name);
  private readonly listeners: { channel: string; listener: LineListener }[] = [];
  private readonly turns = new Mutex();
  private client: SteadyClient | null = null;
  private retry: NodeJS.Timeout | null = null;
  private readonly alive: NodeJS.Timeout;
  private closed = false;

  /** The connection's settings are those of the pool. */
  constructor(private readonly config: ClientConfig) {
    this.alive = setInterval(() => {
      this.query('SELECT 1').catch(() => undefined);
    }, ALIVE_MS).unref();
  }

  /** Before {@link open}. */
  listen(channel: string, { connected, notified }: LineListener): void {
    // In the listener's own context: it is no part of whatever the line was doing.
    const listener = { connected: AsyncResource.bind(connected), notified: AsyncResource.bind(notified) };
    this.listeners.push({ channel, listener });
  }

  /** Resolves once the line stands or could not be made to; it is tried again then. */
  async open(): Promise<void> {
    const client = new SteadyClient({
      ...this.config,
      // pg keeps a pool's password from being copied.
      ...(this.config.password === undefined ? {} : { password: this.config.password }),
      application_name: 'reveille line',
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    try {
      await client.connect();
      client.once('end', () => {
        this.lose(client);
      });
      await this.greet(client);
    } catch (error) {
      this.logger.warn({ error: String(error) }, 'the line to the database could not be opened');
      this.lose(client);
    }
  }

  /** Asks on the line, one question after the other. Rejects when it is down. */
  query<R extends QueryResultRow>(sql: string, parameters: readonly unknown[] = []): Promise<R[]> {
    return this.turns.runExclusive(() => this.ask<R>(sql, parameters));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.alive);
    if (this.retry !== null) clearTimeout(this.retry);
    const { client } = this;
    this.client = null;
    await client?.end();
  }

  private async ask<R extends QueryResultRow>(sql: string, parameters: readonly unknown[]): Promise<R[]> {
    const { client } = this;
    if (client === null) throw new LineDownError();
    try {
      return (await client.query<R>(sql, [...parameters])).rows;
    } catch (error) {
      this.lose(client);
      throw error;
    }
  }

  private async greet(client: SteadyClient): Promise<void> {
    for (const { channel } of this.listeners) await client.query(`LISTEN ${channel}`);
    client.on('notification', ({ processId, channel: name, payload = '' }) => {
      // One's own hints have been heard already.
      if (processId === (client as unknown as { processID: number }).processID) return;
      for (const { channel, listener } of this.listeners) if (channel === name) listener.notified(payload);
    });
    this.client = client;
    for (const { listener } of this.listeners) listener.connected();
  }

  private lose(client: SteadyClient): void {
    if (this.client === client) {
      this.client = null;
      if (!this.closed) this.logger.warn('the line to the database is lost; another is tried');
    }
    client.end().catch(() => undefined);
    if (this.closed) return;
    this.retry ??= setTimeout(() => {
      this.retry = null;
      if (this.client === null) void this.open();
    }, RECONNECT_MS).unref();
  }
}
