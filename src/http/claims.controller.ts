import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { viewAgent } from '../agents/agent-view.js';
import type { Principal } from '../auth/principal.js';
import { TokensService } from '../auth/tokens.service.js';
import { toIso } from '../clock/iso.js';
import { viewRun, viewWake } from '../runs/run-view.js';
import { RunsService } from '../runs/runs.service.js';
import { viewSession } from '../sessions/session-view.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { visible } from './auth/visibility.js';
import { CallerGone } from './caller-gone.decorator.js';
import { ClaimDto, FailDto, FinishDto, HeartbeatDto, OpenSessionDto, ReleaseDto } from './schemas/run.dto.js';

/** What workers do: take runs, keep them, and report. A claim's token opens nothing but its own run. */
@Controller('v1/runs')
@Rights('admin', 'worker')
export class ClaimsController {
  constructor(
    private readonly runs: RunsService,
    private readonly tokens: TokensService,
  ) {}

  @Post('claim')
  @HttpCode(200)
  async claim(@Caller() caller: Principal, @Body() body: ClaimDto, @CallerGone() gone: AbortSignal) {
    const request = {
      workerId: body.workerId,
      bearerTokenId: caller.tokenId,
      workspaceId: caller.workspaceId,
      agentProfileIds: narrowed(caller.agentProfileIds, body.agentProfileIds ?? null),
      max: body.max,
      leaseSeconds: body.leaseSeconds,
      waitSeconds: body.waitSeconds,
    };
    const confirm = () => this.tokens.confirm(caller);
    const claims = await this.runs.claim(request, { gone, confirm });
    return {
      claims: claims.map((claim) => ({
        run: viewRun(claim.run),
        wakes: claim.wakes.map(viewWake),
        agent: viewAgent(claim.agent, true),
        claimToken: claim.claimToken,
        agentToken: claim.agentToken,
        leaseExpiresAt: toIso(claim.leaseExpiresAt),
      })),
    };
  }

  @Post(':id/heartbeat')
  @HttpCode(200)
  async heartbeat(@Caller() caller: Principal, @Param('id') id: string, @Body() body: HeartbeatDto) {
    await this.visible(caller, id);
    const heartbeat = await this.runs.heartbeat(id, report(caller, body), body.leaseSeconds);
    return { ...heartbeat, leaseExpiresAt: toIso(heartbeat.leaseExpiresAt) };
  }

  @Post(':id/session')
  @HttpCode(200)
  async session(@Caller() caller: Principal, @Param('id') id: string, @Body() body: OpenSessionDto) {
    await this.visible(caller, id);
    const opened = await this.runs.openSession(id, report(caller, body), body.executionProfileId);
    if (opened === null) return { session: null, created: false };
    return { session: viewSession(opened.session), created: opened.created };
  }

  @Post(':id/finish')
  @HttpCode(200)
  async finish(@Caller() caller: Principal, @Param('id') id: string, @Body() body: FinishDto) {
    await this.visible(caller, id);
    return viewRun(await this.runs.finish(id, report(caller, body), body));
  }

  @Post(':id/fail')
  @HttpCode(200)
  async fail(@Caller() caller: Principal, @Param('id') id: string, @Body() body: FailDto) {
    await this.visible(caller, id);
    return viewRun(await this.runs.fail(id, report(caller, body), body));
  }

  @Post(':id/release')
  @HttpCode(200)
  async release(@Caller() caller: Principal, @Param('id') id: string, @Body() body: ReleaseDto) {
    await this.visible(caller, id);
    return viewRun(await this.runs.release(id, report(caller, body)));
  }

  private async visible(caller: Principal, id: string): Promise<void> {
    visible(caller, await this.runs.get(id), 'run');
  }
}

function report(caller: Principal, { claimToken }: { readonly claimToken: string }) {
  return { claimToken, bearerTokenId: caller.tokenId };
}

/** A worker that was made for some agents may ask for fewer of them, never for others. */
function narrowed(
  allowed: readonly string[] | null,
  wanted: readonly string[] | null,
): readonly string[] | null {
  if (allowed === null || wanted === null) return allowed ?? wanted;
  return wanted.filter((id) => allowed.includes(id));
}
