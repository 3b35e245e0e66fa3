import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { AgentsService } from '../agents/agents.service.js';
import type { Principal } from '../auth/principal.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { viewSession } from '../sessions/session-view.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { Task } from '../tasks/task.schema.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { EnsureSessionDto, LaunchSessionDto } from './schemas/session.dto.js';

@Controller('v1/tasks')
export class TaskSessionsController {
  constructor(
    private readonly tasks: VisibleTasks,
    private readonly agents: AgentsService,
    private readonly sessions: SessionsService,
  ) {}

  /** An agent is shown its own. */
  @Get(':id/sessions')
  @Rights('admin', 'user', 'agent')
  async list(@Caller() caller: Principal, @Param('id') id: string) {
    await this.tasks.get(caller, id);
    const sessions = await this.sessions.listOfTask(id);
    const own = sessions.filter(
      ({ agentProfileId }) => caller.kind !== 'agent' || agentProfileId === caller.agentProfileId,
    );
    return { items: own.map(viewSession), nextCursor: null };
  }

  /** The one live conversation of the task and the agent, found or made, for either kind of task. */
  @Post(':id/sessions/ensure')
  @HttpCode(200)
  @Rights('admin', 'user')
  async ensure(@Caller() caller: Principal, @Param('id') id: string, @Body() body: EnsureSessionDto) {
    await this.requireAgent(body.agentProfileId, await this.tasks.get(caller, id));
    const { agentProfileId, executionProfileId, executorId } = body;
    const request = { taskId: id, agentProfileId, executionProfileId, executorId };
    const { session, created } = await this.sessions.ensure(request);
    return { session: viewSession(session), created };
  }

  /** A plain launch, beside whatever is live. */
  @Post(':id/sessions')
  @Rights('admin', 'user')
  async launch(@Caller() caller: Principal, @Param('id') id: string, @Body() body: LaunchSessionDto) {
    const task = await this.tasks.get(caller, id);
    if (body.agentProfileId !== undefined) await this.requireAgent(body.agentProfileId, task);
    const { agentProfileId, executionProfileId } = body;
    return viewSession(await this.sessions.launch({ taskId: id, agentProfileId, executionProfileId }));
  }

  private async requireAgent(id: string, { workspaceId }: Task): Promise<void> {
    if ((await this.agents.get(id)).workspaceId !== workspaceId) throw new NotFoundError('agent');
  }
}
