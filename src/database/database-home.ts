import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type DatabaseTarget, parseDatabaseUrl } from '../config/database-url.js';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { lockFile } from './file-lock.js';

/** Where the database is: a server's address, or an SQLite file that this process has claimed before opening it. */
@Injectable()
export class DatabaseHome implements OnApplicationShutdown {
  private readonly leave: (() => Promise<void>)[] = [];

  constructor(@Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions) {}

  /**
   * Makes the place ready to be opened.
   *
   * @throws DatabaseInUseError when another process serves the file.
   */
  async moveIn(): Promise<DatabaseTarget> {
    const target = parseDatabaseUrl(this.options.databaseUrl);
    if (target.kind === 'postgres') return target;
    const file = target.file ?? (await this.temporaryFile());
    // Nobody but the server's own account has any business in there, agents' programs least of all.
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    this.leave.push(await lockFile(file));
    return { kind: 'sqlite', file };
  }

  async onApplicationShutdown(): Promise<void> {
    for (const step of this.leave.reverse()) await step();
  }

  private async temporaryFile(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'reveille-'));
    this.leave.push(() => rm(directory, { recursive: true, force: true }));
    return join(directory, 'reveille.db');
  }
}
