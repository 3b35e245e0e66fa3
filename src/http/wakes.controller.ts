import { Body, Controller, HttpStatus, Post, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AgentsService } from '../agents/agents.service.js';
import { type Principal, actorOf, keyScopeOf } from '../auth/principal.js';
import { ForbiddenError } from '../errors/reveille-error.js';
import { isProducerKey } from '../office/dedup-keys.js';
import { SchedulerService } from '../scheduler/scheduler.service.js';
import type { WakeRequest } from '../scheduler/wake.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { WakeDto } from './schemas/run.dto.js';
import { viewDecision } from './views.js';

@Controller('v1/wakes')
export class WakesController {
  constructor(
    private readonly scheduler: SchedulerService,
    private readonly agents: AgentsService,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Answers 201 when the wake made a run of its own, 200 for every other decision. */
  @Post()
  @Rights('admin', 'user', 'agent')
  async wake(
    @Caller() caller: Principal,
    @Body() body: WakeDto,
    @Res({ passthrough: true }) response: unknown,
  ) {
    const decision = await this.scheduler.queueRun(await this.request(caller, body));
    const status = decision.admitted ? HttpStatus.CREATED : HttpStatus.OK;
    this.adapterHost.httpAdapter.status(response, status);
    return viewDecision(decision);
  }

  /** The wake as the caller may ask for it: whatever the payload says of an actor, the actor is the caller. */
  private async request(caller: Principal, body: WakeDto): Promise<WakeRequest> {
    visible(caller, await this.agents.get(body.agentProfileId), 'agent');
    if (caller.kind === 'agent' && body.reason === 'task_assigned') {
      throw new ForbiddenError('An agent assigns a task by changing the task.');
    }
    if (caller.kind !== 'admin' && isProducerKey(body.idempotencyKey ?? '')) {
      throw new ForbiddenError('A key of that shape belongs to one of the producers.');
    }
    const actor = actorOf(caller);
    return {
      agentProfileId: body.agentProfileId,
      reason: body.reason,
      payload: JSON.stringify({ ...body.payload, actor_type: actor.type, actor_id: actor.id }),
      idempotencyKey: body.idempotencyKey,
      keyScope: keyScopeOf(caller),
    };
  }
}
