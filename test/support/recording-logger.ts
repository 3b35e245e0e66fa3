import type { LoggerService } from '@nestjs/common';
import type { TestReveille } from './reveille.js';

/** A line of the log, as the code that wrote it put it. */
export interface LogLine {
  readonly level: 'log' | 'warn' | 'error' | 'debug';
  readonly context: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Keeps what is logged, so that tests can ask for exactly the fields that are there. */
export class RecordingLogger implements LoggerService {
  private readonly lines: LogLine[] = [];

  /** Hears everything that is logged from now on. */
  static of(reveille: TestReveille): RecordingLogger {
    const logger = new RecordingLogger();
    reveille.app.useLogger(logger);
    return logger;
  }

  log(...line: unknown[]): void {
    this.keep('log', line);
  }

  warn(...line: unknown[]): void {
    this.keep('warn', line);
  }

  error(...line: unknown[]): void {
    this.keep('error', line);
  }

  debug(...line: unknown[]): void {
    this.keep('debug', line);
  }

  /** What admission, or another part, logged while `work` ran. */
  async during(work: () => Promise<unknown>, part = 'Admission'): Promise<readonly LogLine[]> {
    const start = this.lines.length;
    await work();
    return this.lines.slice(start).filter(({ context }) => context === part);
  }

  private keep(level: LogLine['level'], [fields, text, context]: readonly unknown[]): void {
    if (typeof fields !== 'object' || fields === null) return;
    this.lines.push({ level, context: String(context), fields: { ...fields }, text: String(text) });
  }
}
