import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import type { AuthenticatedRequest } from './auth.guard.js';

/** The caller, as the guard has recognised them. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (principal === undefined) throw new Error('Nobody has asked who is calling.');
  return principal;
});
