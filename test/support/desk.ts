import type { Claim, ClaimReport } from '../../src/runs/claim.js';
import type { Run } from '../../src/runs/run.schema.js';
import { RunsService } from '../../src/runs/runs.service.js';
import type { TestReveille } from './reveille.js';
import { Workplace } from './wakes.js';

const BEARER = 'a-bearer';
const MINUTE_MS = 60_000;

/** A workplace, and a worker at it who claims and reports. */
export class Desk {
  private constructor(
    private readonly reveille: TestReveille,
    readonly workplace: Workplace,
  ) {}

  static async open(reveille: TestReveille): Promise<Desk> {
    return new Desk(reveille, await Workplace.open(reveille));
  }

  get runs(): RunsService {
    return this.reveille.get(RunsService);
  }

  /** A run that waits for the agent; those of one agent are told apart by their reason. */
  queued(agentProfileId: string, reason = 'hello'): Promise<Run> {
    return this.workplace.queued({ agentProfileId, reason, payload: '{}' });
  }

  /** So many runs that wait for the agent, a minute apart, oldest first. */
  async queuedMinutely(agentProfileId: string, count: number): Promise<readonly Run[]> {
    const runs: Run[] = [];
    while (runs.length < count) {
      runs.push(await this.queued(agentProfileId, `hello_${runs.length}`));
      this.reveille.clock.advance(MINUTE_MS);
    }
    return runs;
  }

  /** Claims one run, of one of the agents when they are named; null when nothing came. */
  async claim(agentProfileIds: readonly string[] | null = null): Promise<Claim | null> {
    const { workspaceId } = this.workplace;
    const who = { workerId: 'w', bearerTokenId: BEARER };
    const [claim] = await this.runs.claim({ ...who, workspaceId, agentProfileIds });
    return claim ?? null;
  }

  /** The same where there must be one. */
  async claimed(agentProfileIds: readonly string[] | null = null): Promise<Claim> {
    const claim = await this.claim(agentProfileIds);
    if (claim === null) throw new Error('Nothing was claimed.');
    return claim;
  }

  /** What a claim's holder shows. */
  reportOf({ claimToken }: Pick<Claim, 'claimToken'>): ClaimReport {
    return { claimToken, bearerTokenId: BEARER };
  }

  finish(claim: Claim): Promise<Run> {
    return this.runs.finish(claim.run.id, this.reportOf(claim), {});
  }

  fail(claim: Claim): Promise<Run> {
    return this.runs.fail(claim.run.id, this.reportOf(claim), { error: 'an error', retryable: false });
  }

  run(id: string): Promise<Run> {
    return this.workplace.run(id);
  }
}
