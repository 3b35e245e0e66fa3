import { Injectable } from '@nestjs/common';
import { PauseGateUnavailableError, WorkspacePausedError } from '../../workspaces/workspace.errors.js';
import type { Verdict } from '../admission-gate.js';
import type { WakeFacts } from '../wake-facts.js';
import type { Wake } from '../wake.js';

/** Nothing is woken in a workspace whose kill switch is pressed, or may be. */
@Injectable()
export class WorkspacePauseGate {
  readonly name = 'workspace_pause';
  readonly onReadFailure = 'closed';

  async judge(_wake: Wake, facts: WakeFacts): Promise<Verdict> {
    if ((await facts.pause()) !== null) throw new WorkspacePausedError();
    return { kind: 'pass' };
  }

  closed(cause: unknown): Error {
    return new PauseGateUnavailableError({ cause });
  }
}
