import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Principal, actorOf } from '../auth/principal.js';
import { toIsoOrNull } from '../clock/iso.js';
import { ForbiddenError } from '../errors/reveille-error.js';
import { ClaimExplainer } from '../runs/claim-explainer.js';
import type { Run } from '../runs/run.schema.js';
import { RunKeys } from '../runs/run-keys.js';
import { viewRun, viewWake } from '../runs/run-view.js';
import { RunsService } from '../runs/runs.service.js';
import { RunRetries } from '../scheduler/run-retries.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { instantPlaceIn, pageOf } from './paging.js';
import { CancelDto, ListRunsDto } from './schemas/run.dto.js';

@Controller('v1/runs')
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly explainer: ClaimExplainer,
    private readonly retries: RunRetries,
    private readonly keys: RunKeys,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Newest first; an agent is shown its own. */
  @Get()
  @Rights('admin', 'user', 'agent', 'worker')
  list(@Caller() caller: Principal, @Query() { limit, cursor, ...filter }: ListRunsDto) {
    const own = caller.kind === 'agent' ? { agentProfileId: caller.agentProfileId ?? '' } : {};
    const scope = caller.workspaceId === null ? {} : { workspaceId: caller.workspaceId };
    return pageOf(
      { limit, cursor },
      (after, count) => this.runs.list({ ...filter, ...own, ...scope }, instantPlaceIn(after), count),
      { placeOf: (run: Run) => [String(run.requestedAt), run.id], view: viewRun },
    );
  }

  @Get(':id')
  @Rights('admin', 'user', 'agent', 'worker')
  async get(@Caller() caller: Principal, @Param('id') id: string) {
    const run = await this.readable(caller, id);
    return { ...viewRun(run), wakes: (await this.runs.wakesOf(run)).map(viewWake) };
  }

  /** Everything that keeps the run from being claimed now, and until when. Changes nothing. */
  @Get(':id/explain')
  @Rights('admin', 'user', 'agent', 'worker')
  async explain(@Caller() caller: Principal, @Param('id') id: string) {
    const { claimable, blockers } = await this.explainer.explain(await this.readable(caller, id));
    return {
      claimable,
      blockers: blockers.map(({ until, ...blocker }) => ({ ...blocker, until: toIsoOrNull(until) })),
    };
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Rights('admin', 'user')
  async cancel(@Caller() caller: Principal, @Param('id') id: string, @Body() { reason }: CancelDto) {
    visible(caller, await this.runs.get(id), 'run');
    return viewRun(await this.runs.cancel(id, reason));
  }

  /** Answers 201 with a new run, 200 with one that waited or was made before. */
  @Post(':id/retry')
  @Rights('admin', 'user')
  async retry(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: unknown,
  ) {
    visible(caller, await this.runs.get(id), 'run');
    const { run, isNew } = await this.retries.retry(id, actorOf(caller));
    this.adapterHost.httpAdapter.status(response, isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return viewRun(run);
  }

  @Delete(':id/key')
  @HttpCode(204)
  @Rights('admin', 'user')
  async freeKey(@Caller() caller: Principal, @Param('id') id: string): Promise<void> {
    visible(caller, await this.runs.get(id), 'run');
    await this.keys.free(id);
  }

  private async readable(caller: Principal, id: string): Promise<Run> {
    const run = visible(caller, await this.runs.get(id), 'run');
    if (caller.kind === 'agent' && run.agentProfileId !== caller.agentProfileId) {
      throw new ForbiddenError('An agent sees only its own runs.');
    }
    return run;
  }
}
