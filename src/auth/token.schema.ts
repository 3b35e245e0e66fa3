import { EntitySchema } from 'typeorm';
import { instant, json, text } from '../database/columns.js';

export const TOKEN_KINDS = ['admin', 'user', 'agent', 'worker'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** A bearer token, of which only the hash is kept. */
export interface Token {
  readonly id: string;
  readonly kind: TokenKind;
  /** Null for administrators, who belong to none. */
  readonly workspaceId: string | null;
  /** The agent that an `agent` token speaks for. */
  readonly agentProfileId: string | null;
  /** The run that an agent's token was made for, and with which it dies. */
  readonly runId: string | null;
  readonly name: string;
  /** The person behind a `user` token, when its maker named one: stays the same when tokens are rotated. */
  readonly subject: string | null;
  /** The agents whose runs a `worker` token may claim; null for all of its workspace. */
  readonly agentProfileIds: readonly string[] | null;
  readonly secretHash: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

export const TokenSchema = new EntitySchema<Token>({
  name: 'tokens',
  columns: {
    id: text('id', { primary: true }),
    kind: text('kind'),
    workspaceId: text('workspace_id', { nullable: true }),
    agentProfileId: text('agent_profile_id', { nullable: true }),
    runId: text('run_id', { nullable: true }),
    name: text('name'),
    subject: text('subject', { nullable: true }),
    agentProfileIds: json('agent_profile_ids', { nullable: true }),
    secretHash: text('secret_hash'),
    createdAt: instant('created_at'),
    expiresAt: instant('expires_at', { nullable: true }),
    lastUsedAt: instant('last_used_at', { nullable: true }),
  },
  indices: [
    { name: 'tokens_workspace', columns: ['workspaceId', 'id'] },
    { name: 'tokens_run', columns: ['runId'], where: 'run_id IS NOT NULL' },
  ],
});
