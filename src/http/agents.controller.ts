import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { viewAgent } from '../agents/agent-view.js';
import { AgentsService } from '../agents/agents.service.js';
import type { Principal } from '../auth/principal.js';
import { TokensService } from '../auth/tokens.service.js';
import { ForbiddenError } from '../errors/reveille-error.js';
import { AgentRemoval } from '../office/agent-removal.service.js';
import { RunsService } from '../runs/runs.service.js';
import { WorkspacesService } from '../workspaces/workspaces.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { type Page, pageOf } from './paging.js';
import { CreateAgentDto, UpdateAgentDto } from './schemas/agent.dto.js';
import { PageDto } from './schemas/workspace.dto.js';

@Controller('v1/agents')
export class AgentsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly workspaces: WorkspacesService,
    private readonly tokens: TokensService,
    private readonly runs: RunsService,
    private readonly removal: AgentRemoval,
  ) {}

  @Post()
  @Rights('admin')
  async create(@Body() body: CreateAgentDto) {
    await this.workspaces.get(body.workspaceId);
    return viewAgent(await this.agents.create(body), false);
  }

  @Get()
  @Rights('admin', 'user', 'agent', 'worker')
  async list(
    @Caller() caller: Principal,
    @Query() query: PageDto,
  ): Promise<Page<ReturnType<typeof viewAgent>>> {
    const page = await pageOf(
      query,
      (after, count) => this.agents.list(caller.workspaceId, after?.[0] ?? null, count),
      { placeOf: ({ id }: Agent) => [id], view: (agent) => agent },
    );
    const busy = await this.runs.busyAgents(page.items.map(({ id }) => id));
    return { ...page, items: page.items.map((agent) => viewAgent(agent, busy.has(agent.id))) };
  }

  @Get(':id')
  @Rights('admin', 'user', 'agent', 'worker')
  async get(@Caller() caller: Principal, @Param('id') id: string) {
    return this.view(visible(caller, await this.agents.get(id), 'agent'));
  }

  /** A person may say whether an agent works; what it is and may do is for administrators. */
  @Patch(':id')
  @Rights('admin', 'user')
  async update(@Caller() caller: Principal, @Param('id') id: string, @Body() body: UpdateAgentDto) {
    visible(caller, await this.agents.get(id), 'agent');
    if (caller.kind !== 'admin' && Object.keys(body).some((field) => field !== 'status')) {
      throw new ForbiddenError('Only an administrator may change more of an agent than its status.');
    }
    return this.view(await this.agents.update(id, body));
  }

  /** Softly: later reads find nothing, history keeps the name. */
  @Delete(':id')
  @HttpCode(204)
  @Rights('admin')
  async remove(@Param('id') id: string): Promise<void> {
    await this.removal.remove(id);
  }

  @Post(':id/tokens')
  @Rights('admin')
  async issueToken(@Param('id') id: string) {
    const { workspaceId, name } = await this.agents.get(id);
    return this.tokens.issue({ kind: 'agent', name, workspaceId, agentProfileId: id });
  }

  private async view(agent: Agent) {
    return viewAgent(agent, (await this.runs.busyAgents([agent.id])).has(agent.id));
  }
}
