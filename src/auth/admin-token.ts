import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { TokensService } from './tokens.service.js';

/** Sees to it that somebody can administer a fresh server that was given no administrator's token. */
@Injectable()
export class AdminToken implements OnApplicationBootstrap {
  private readonly logger = new Logger(AdminToken.name);

  constructor(
    private readonly tokens: TokensService,
    @Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!this.options.http || this.options.adminToken !== null || (await this.tokens.hasAdmin())) return;
    const { token } = await this.tokens.issue({ kind: 'admin', name: 'first administrator' });
    const file = resolve(this.options.adminTokenFile);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, `${token}\n`, { mode: 0o600 });
    this.logger.log({ file }, 'the administrator token was made and written to a file');
  }
}
