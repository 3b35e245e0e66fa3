import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { LeaseClock } from '../database/lease-clock.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { Ids } from '../random/ids.js';
import { Randomness } from '../random/randomness.js';
import { UnauthenticatedError } from './auth.errors.js';
import type { Principal } from './principal.js';
import { RevocationSignal } from './revocation-signal.js';
import { SECRET_BYTES, hashOf, sameHash, tokenIdIn, tokenText } from './token-text.js';
import type { Token } from './token.schema.js';
import { TokensRepository } from './tokens.repository.js';

/** What the maker of a token decides. */
export type NewToken = Pick<Token, 'kind' | 'name'> &
  Partial<
    Pick<Token, 'workspaceId' | 'agentProfileId' | 'runId' | 'subject' | 'agentProfileIds' | 'expiresAt'>
  >;

/** A token at the only moment at which its text is known. */
export interface IssuedToken {
  readonly id: string;
  readonly token: string;
}

const CONFIGURED_ADMIN: Principal = {
  kind: 'admin',
  tokenId: 'admin',
  workspaceId: null,
  agentProfileId: null,
  runId: null,
  subject: null,
  agentProfileIds: null,
};

/** Issues, recognises and revokes bearer tokens. */
@Injectable()
export class TokensService {
  private readonly adminHash: string | null;

  constructor(
    private readonly transactions: Transactions,
    private readonly repository: TokensRepository,
    private readonly clock: Clock,
    private readonly leases: LeaseClock,
    private readonly ids: Ids,
    private readonly randomness: Randomness,
    private readonly revoked: RevocationSignal,
    @Inject(REVEILLE_OPTIONS) options: ReveilleOptions,
  ) {
    this.adminHash = options.adminToken === null ? null : hashOf(options.adminToken);
  }

  /** Makes a token, in the transaction around the caller when there is one. */
  async issue(wanted: NewToken): Promise<IssuedToken> {
    const id = this.ids.next();
    const token = tokenText(wanted.kind, id, this.randomness.bytes(SECRET_BYTES));
    const row: Token = {
      id,
      workspaceId: null,
      agentProfileId: null,
      runId: null,
      subject: null,
      agentProfileIds: null,
      expiresAt: null,
      ...wanted,
      secretHash: hashOf(token),
      createdAt: this.clock.now(),
      lastUsedAt: null,
    };
    await this.transactions.run(() => this.repository.insert(row));
    return { id, token };
  }

  /** @throws UnauthenticatedError when the text is no token, or one that is revoked or has expired. */
  async authenticate(text: string): Promise<Principal> {
    const hash = hashOf(text);
    if (this.adminHash !== null && sameHash(hash, this.adminHash)) return CONFIGURED_ADMIN;
    const id = tokenIdIn(text);
    const token = id === null ? null : await this.repository.find(id);
    if (token === null || !sameHash(hash, token.secretHash)) throw new UnauthenticatedError();
    if (await this.hasExpired(token)) throw new UnauthenticatedError();
    return { ...token, tokenId: token.id };
  }

  /**
   * For whoever is still being served on a token that was recognised a while ago.
   *
   * @throws UnauthenticatedError when it has been revoked or has expired since.
   */
  async confirm({ tokenId }: Principal): Promise<void> {
    if (tokenId === CONFIGURED_ADMIN.tokenId) return;
    const token = await this.repository.find(tokenId);
    if (token === null || (await this.hasExpired(token))) throw new UnauthenticatedError();
  }

  hasAdmin(): Promise<boolean> {
    return this.repository.hasAdmin();
  }

  list(workspaceId: string, after: string | null, limit: number): Promise<readonly Token[]> {
    return this.repository.page(workspaceId, after, limit);
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Token> {
    const token = await this.repository.find(id);
    if (token === null) throw new NotFoundError('token');
    return token;
  }

  /** The token opens nothing from now on. */
  revoke(id: string): Promise<void> {
    return this.transactions.run(async () => {
      await this.repository.delete(id);
      this.transactions.afterCommit(() => {
        this.revoked.send();
      });
    });
  }

  /** The token made for a run dies with its claim. */
  revokeOfRun(runId: string): Promise<void> {
    return this.transactions.run(() => this.repository.deleteOfRun(runId));
  }

  /** The tokens of an agent die with it. */
  revokeOfAgent(agentProfileId: string): Promise<void> {
    return this.transactions.run(() => this.repository.deleteOfAgent(agentProfileId));
  }

  /** The token made for a run lives as long as the run's lease. */
  extendOfRun(runId: string, leaseExpiresAt: number): Promise<void> {
    return this.transactions.run(() => this.repository.extendOfRun(runId, leaseExpiresAt));
  }

  private async hasExpired({ expiresAt, runId }: Token): Promise<boolean> {
    if (expiresAt === null) return false;
    return expiresAt <= (runId === null ? this.clock.now() : await this.leases.now());
  }
}
