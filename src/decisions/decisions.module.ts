import { Module } from '@nestjs/common';
import { DecisionsRepository } from './decisions.repository.js';
import { DecisionsService } from './decisions.service.js';

@Module({ providers: [DecisionsRepository, DecisionsService], exports: [DecisionsService] })
export class DecisionsModule {}
