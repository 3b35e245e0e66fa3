import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import type { StoredDecision } from '../decisions/decision.schema.js';
import { DecisionsService } from '../decisions/decisions.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { instantPlaceIn, pageOf } from './paging.js';
import { ListDecisionsDto } from './schemas/wake.dto.js';
import { viewStoredDecision } from './views.js';

@Controller('v1/decisions')
export class DecisionsController {
  constructor(private readonly decisions: DecisionsService) {}

  /** Every decision that made no run, newest first; an agent is shown those about itself. */
  @Get()
  @Rights('admin', 'user', 'agent')
  list(@Caller() caller: Principal, @Query() { limit, cursor, ...filter }: ListDecisionsDto) {
    const own = caller.kind === 'agent' ? { agentProfileId: caller.agentProfileId ?? '' } : {};
    const scope = caller.workspaceId === null ? {} : { workspaceId: caller.workspaceId };
    return pageOf(
      { limit, cursor },
      (after, count) => this.decisions.list({ ...filter, ...own, ...scope }, instantPlaceIn(after), count),
      { placeOf: ({ firstAt, id }: StoredDecision) => [String(firstAt), id], view: viewStoredDecision },
    );
  }
}
