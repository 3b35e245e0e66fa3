import { Module } from '@nestjs/common';
import { AdminToken } from './admin-token.js';
import { TokensRepository } from './tokens.repository.js';
import { TokensService } from './tokens.service.js';

@Module({ providers: [TokensRepository, TokensService, AdminToken], exports: [TokensService] })
export class AuthModule {}
