import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { UnauthenticatedError } from '../../auth/auth.errors.js';
import type { Principal } from '../../auth/principal.js';
import { TokensService } from '../../auth/tokens.service.js';
import { ForbiddenError } from '../../errors/reveille-error.js';
import { RIGHTS, type RouteRights } from './rights.decorator.js';

/** A request once its caller is known. */
export interface AuthenticatedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  principal?: Principal;
}

/** Learns who is calling, and lets them no further than the route's declared rights. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: TokensService,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const rights = this.reflector.getAllAndOverride<RouteRights | undefined>(RIGHTS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (rights === undefined) throw new Error('This route declares no rights.');
    if (rights === 'anybody') return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const principal = await this.tokens.authenticate(bearerIn(request));
    if (!rights.includes(principal.kind))
      throw new ForbiddenError(`A token of kind ${principal.kind} may not do this.`);
    request.principal = principal;
    return true;
  }
}

function bearerIn({ headers }: AuthenticatedRequest): string {
  const header = headers['authorization'];
  const [, token] = /^Bearer ([^\s]+)$/i.exec(typeof header === 'string' ? header : '') ?? [];
  if (token === undefined) throw new UnauthenticatedError();
  return token;
}
