import { Body, Controller, Get, HttpStatus, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Principal } from '../auth/principal.js';
import { ForbiddenError } from '../errors/reveille-error.js';
import type { Session } from '../sessions/session.schema.js';
import { viewSession } from '../sessions/session-view.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { pageOf } from './paging.js';
import { ListSessionsDto, SpawnSessionDto, UpdateSessionDto } from './schemas/session.dto.js';

@Controller('v1/sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

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
    return viewSession(await this.own(caller, id));
  }

  @Patch(':id')
  @Rights('admin', 'user')
  async update(@Caller() caller: Principal, @Param('id') id: string, @Body() { state }: UpdateSessionDto) {
    await this.own(caller, id);
    return viewSession(await this.sessions.setState(id, state));
  }

  /** Prepares a session in the place of this one, which stays live. */
  @Post(':id/replace')
  @Rights('admin', 'user')
  async replace(@Caller() caller: Principal, @Param('id') id: string) {
    await this.own(caller, id);
    return viewSession(await this.sessions.replace(id));
  }

  /** 201 when a session was made, 200 when there was one to go to. An agent spawns from its own sessions only. */
  @Post(':id/spawn')
  @Rights('admin', 'user', 'agent')
  async spawn(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() { agentProfileId }: SpawnSessionDto,
    @Res({ passthrough: true }) response: unknown,
  ) {
    await this.own(caller, id);
    const { session, created } = await this.sessions.spawn(id, agentProfileId);
    this.adapterHost.httpAdapter.status(response, created ? HttpStatus.CREATED : HttpStatus.OK);
    return { session: spawnedFor(caller, session), created };
  }

  private async own(caller: Principal, id: string): Promise<Session> {
    const session = visible(caller, await this.sessions.get(id), 'session');
    if (caller.kind === 'agent' && session.agentProfileId !== caller.agentProfileId) {
      throw new ForbiddenError('An agent has to do only with its own sessions.');
    }
    return session;
  }
}

/** An agent may be led to another's conversation; what that one remembers is not for it to read. */
function spawnedFor(caller: Principal, session: Session) {
  const isOwn = caller.kind !== 'agent' || session.agentProfileId === caller.agentProfileId;
  return viewSession(isOwn ? session : { ...session, metadata: {} });
}
