import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { TokensService } from '../auth/tokens.service.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { OnboardingService } from '../office/onboarding.service.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { sees } from './auth/visibility.js';
import { pageOf } from './paging.js';
import {
  CreateTokenDto,
  CreateWorkspaceDto,
  OnboardingDto,
  PageDto,
  PauseWorkspaceDto,
} from './schemas/workspace.dto.js';
import { viewPause, viewReaction, viewTask, viewToken, viewWorkspace } from './views.js';

@Controller('v1/workspaces')
export class WorkspacesController {
  constructor(
    private readonly workspaces: WorkspacesService,
    private readonly tokens: TokensService,
    private readonly onboarding: OnboardingService,
  ) {}

  @Post()
  @Rights('admin')
  async create(@Body() body: CreateWorkspaceDto) {
    return { ...viewWorkspace(await this.workspaces.create(body)), pause: null };
  }

  @Get()
  @Rights('admin', 'user', 'agent', 'worker')
  async list(@Caller() caller: Principal, @Query() query: PageDto) {
    if (caller.workspaceId !== null) {
      return { items: [viewWorkspace(await this.workspaces.get(caller.workspaceId))], nextCursor: null };
    }
    return pageOf(query, (after, count) => this.workspaces.list(after?.[0] ?? null, count), {
      placeOf: ({ id }) => [id],
      view: viewWorkspace,
    });
  }

  @Get(':id')
  @Rights('admin', 'user', 'agent', 'worker')
  async get(@Caller() caller: Principal, @Param('id') id: string) {
    const workspace = await this.visible(caller, id);
    const pause = await this.workspaces.pauseOf(id);
    return { ...viewWorkspace(workspace), pause: pause === null ? null : viewPause(pause) };
  }

  @Put(':id/pause')
  @Rights('admin', 'user')
  async pause(@Caller() caller: Principal, @Param('id') id: string, @Body() { reason }: PauseWorkspaceDto) {
    await this.visible(caller, id);
    return viewPause(await this.workspaces.pause(id, reason, operator(caller)));
  }

  @Delete(':id/pause')
  @HttpCode(204)
  @Rights('admin', 'user')
  async resume(@Caller() caller: Principal, @Param('id') id: string): Promise<void> {
    await this.visible(caller, id);
    await this.workspaces.resume(id, operator(caller));
  }

  /** Gives a new coordinator its first task, and wakes it. */
  @Post(':id/onboarding')
  @Rights('admin', 'user')
  async onboard(@Caller() caller: Principal, @Param('id') id: string, @Body() body: OnboardingDto) {
    await this.visible(caller, id);
    const { agentProfileId, title } = body;
    const { task, reaction } = await this.onboarding.onboard({ workspaceId: id, agentProfileId, title });
    return { task: viewTask(task), reaction: viewReaction(reaction) };
  }

  @Post(':id/tokens')
  @Rights('admin')
  async issueToken(@Param('id') id: string, @Body() body: CreateTokenDto) {
    await this.workspaces.get(id);
    return this.tokens.issue({
      kind: body.kind,
      name: body.name,
      workspaceId: id,
      subject: body.subject ?? null,
      agentProfileIds: body.agentProfileIds ?? null,
      expiresAt: body.expiresAt ?? null,
    });
  }

  @Get(':id/tokens')
  @Rights('admin')
  async listTokens(@Param('id') id: string, @Query() query: PageDto) {
    await this.workspaces.get(id);
    return pageOf(query, (after, count) => this.tokens.list(id, after?.[0] ?? null, count), {
      placeOf: (token) => [token.id],
      view: viewToken,
    });
  }

  private async visible(caller: Principal, id: string) {
    if (!sees(caller, id)) throw new NotFoundError('workspace');
    return this.workspaces.get(id);
  }
}

function operator(caller: Principal) {
  return { kind: caller.kind, id: caller.subject ?? caller.tokenId };
}
