import type { TokenKind } from './token.schema.js';

/** Who is calling, as their token says; nothing in a request can add to it. */
export interface Principal {
  readonly kind: TokenKind;
  readonly tokenId: string;
  /** Null for administrators, who see every workspace. */
  readonly workspaceId: string | null;
  readonly agentProfileId: string | null;
  /** The run inside which an agent is acting. */
  readonly runId: string | null;
  readonly subject: string | null;
  /** The agents whose runs a worker may claim; null for all of its workspace. */
  readonly agentProfileIds: readonly string[] | null;
}

/** Who caused a change. */
export interface Actor {
  readonly type: 'user' | 'agent';
  readonly id: string;
}

/** An agent's token makes an agent; every other is a person's. None becomes the other by leaving something out. */
export function actorOf(principal: Principal): Actor {
  if (principal.agentProfileId !== null) return { type: 'agent', id: principal.agentProfileId };
  return { type: 'user', id: principal.subject ?? principal.tokenId };
}

/** Whose keys the caller's keys are: an agent's own, inside its run when it acts in one, else everybody's. */
export function keyScopeOf(principal: Principal): string {
  if (principal.agentProfileId === null) return '';
  return principal.runId === null
    ? principal.agentProfileId
    : `${principal.agentProfileId}/${principal.runId}`;
}
