import { Body, Controller, HttpCode, HttpStatus, Post, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Principal } from '../auth/principal.js';
import { SchedulerService } from '../scheduler/scheduler.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { Problems } from './problems.js';
import { WakeBatchDto, WakeDto } from './schemas/wake.dto.js';
import { viewDecision, viewExplanation } from './views.js';
import { WakeRequests } from './wake-requests.js';

@Controller('v1/wakes')
@Rights('admin', 'user', 'agent')
export class WakesController {
  constructor(
    private readonly scheduler: SchedulerService,
    private readonly requests: WakeRequests,
    private readonly problems: Problems,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Answers 201 when the wake made a run of its own, 200 for every other decision. */
  @Post()
  async wake(
    @Caller() caller: Principal,
    @Body() body: WakeDto,
    @Res({ passthrough: true }) response: unknown,
  ) {
    const decision = await this.scheduler.queueRun(await this.requests.of(caller, body));
    const status = decision.admitted ? HttpStatus.CREATED : HttpStatus.OK;
    this.adapterHost.httpAdapter.status(response, status);
    return viewDecision(decision);
  }

  /** Decides each wake in its place as if it had come alone; one that fails answers an error there. */
  @Post('batch')
  @HttpCode(200)
  async batch(@Caller() caller: Principal, @Body() { wakes }: WakeBatchDto) {
    const decisions: object[] = [];
    for (const wake of wakes) decisions.push(await this.settle(caller, wake));
    return { decisions };
  }

  /** What would become of the wake now, step by step. Changes nothing. */
  @Post('explain')
  @HttpCode(200)
  async explain(@Caller() caller: Principal, @Body() body: WakeDto) {
    return viewExplanation(await this.scheduler.explain(await this.requests.of(caller, body)));
  }

  private async settle(caller: Principal, wake: unknown): Promise<object> {
    try {
      const request = await this.requests.ofUnknown(caller, wake);
      return { decision: viewDecision(await this.scheduler.queueRun(request)) };
    } catch (error) {
      const { code, status, detail } = this.problems.of(error);
      return { error: { code, status, detail } };
    }
  }
}
