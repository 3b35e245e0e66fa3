import { Controller, Get, Param, Query } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { ForbiddenError } from '../errors/reveille-error.js';
import type { Session } from '../sessions/session.schema.js';
import { viewSession } from '../sessions/session-view.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { pageOf } from './paging.js';
import { ListSessionsDto } from './schemas/session.dto.js';

@Controller('v1/sessions')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Get()
  @Rights('admin', 'user', 'agent')
  list(@Caller() caller: Principal, @Query() { limit, cursor, ...filter }: ListSessionsDto) {
    const own = caller.kind === 'agent' ? { agentProfileId: caller.agentProfileId ?? '' } : {};
    const scope = caller.workspaceId === null ? {} : { workspaceId: caller.workspaceId };
    return pageOf(
      { limit, cursor },
      (after, count) => this.sessions.list({ ...filter, ...own, ...scope }, after?.[0] ?? null, count),
      { placeOf: ({ id }: Session) => [id], view: viewSession },
    );
  }

  @Get(':id')
  @Rights('admin', 'user', 'agent')
  async get(@Caller() caller: Principal, @Param('id') id: string) {
    const session = visible(caller, await this.sessions.get(id), 'session');
    if (caller.kind === 'agent' && session.agentProfileId !== caller.agentProfileId) {
      throw new ForbiddenError('An agent sees only its own sessions.');
    }
    return viewSession(session);
  }
}
