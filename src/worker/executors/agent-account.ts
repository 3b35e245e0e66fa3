import { execFileSync } from 'node:child_process';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../../config/options.js';

/** The account under which agents' programs run. */
@Injectable()
export class AgentAccount implements OnApplicationBootstrap {
  private readonly logger = new Logger(AgentAccount.name);
  private ids: { uid: number; gid: number } | undefined;

  constructor(@Inject(REVEILLE_OPTIONS) private readonly options: ReveilleOptions) {}

  /** An account that does not exist stops the start: agents must never run under a mightier one by mistake. */
  onApplicationBootstrap(): void {
    if (!this.options.worker) return;
    const { agentUser } = this.options;
    if (agentUser !== null) this.ids = { uid: idOf('-u', agentUser), gid: idOf('-g', agentUser) };
    else
      this.logger.warn('AGENT_USER is not set: nothing but good manners separates agents from this server');
  }

  /** What `spawn` must be told; nothing when agents run under the server's own account. */
  identity(): { uid?: number; gid?: number } {
    return this.ids ?? {};
  }
}

function idOf(flag: '-u' | '-g', user: string): number {
  return Number(execFileSync('id', [flag, '--', user], { encoding: 'utf8' }));
}
