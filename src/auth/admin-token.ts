import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { TokensService } from './tokens.service.js';

/** The lock behind which servers that start together make one token. */
const FIRST_ADMIN = 'first-administrator';

/** Sees to it that somebody can administer a fresh server that was given no administrator's token. */
@Injectable()
export class AdminToken implements OnApplicationBootstrap {
  private readonly logger = new Logger(AdminToken.name);

  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly tokens: TokensService,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!this.options.http || this.options.adminToken !== null) return;
    const file = resolve(this.options.adminTokenFile);
    // The file is written before the commit: a token that nobody can read would lock everybody out for good.
    const isMade = await this.transactions.run(async () => {
      await this.dialect.lock(this.transactions.writing(), [FIRST_ADMIN]);
      if (await this.tokens.hasAdmin()) return false;
      const { token } = await this.tokens.issue({ kind: 'admin', name: 'first administrator' });
      await writeSecret(file, token);
      return true;
    });
    if (isMade) this.logger.log({ file }, 'the administrator token was made and written to a file');
  }
}

/** A new file takes the old one's place, so that neither its mode nor half of its text is left. */
async function writeSecret(file: string, secret: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  await writeFile(fresh, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
}
