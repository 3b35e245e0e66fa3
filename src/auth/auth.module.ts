import { Module } from '@nestjs/common';
import { AdminToken } from './admin-token.js';
import { RevocationSignal } from './revocation-signal.js';
import { TokensRepository } from './tokens.repository.js';
import { TokensService } from './tokens.service.js';

@Module({
  providers: [TokensRepository, RevocationSignal, TokensService, AdminToken],
  exports: [TokensService, RevocationSignal],
})
export class AuthModule {}
