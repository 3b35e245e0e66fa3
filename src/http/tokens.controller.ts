import { Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { TokensService } from '../auth/tokens.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';

@Controller('v1')
export class TokensController {
  constructor(private readonly tokens: TokensService) {}

  /** Who the caller is, as far as their token says. */
  @Get('me')
  @Rights('admin', 'user', 'agent', 'worker')
  me(@Caller() { kind, tokenId, workspaceId, agentProfileId, runId, subject }: Principal) {
    return { kind, id: tokenId, workspaceId, agentProfileId, runId, subject };
  }

  @Delete('tokens/:id')
  @HttpCode(204)
  @Rights('admin')
  async revoke(@Param('id') id: string): Promise<void> {
    await this.tokens.get(id);
    await this.tokens.revoke(id);
  }
}
