import { SetMetadata } from '@nestjs/common';
import type { TokenKind } from '../../auth/token.schema.js';

/** The metadata under which a route's rights stand. */
export const RIGHTS = 'reveille:rights';

/** Who may call a route: these kinds of token, or anybody. */
export type RouteRights = readonly TokenKind[] | 'anybody';

/** Declares, beside the route, which kinds of token may call it. What else they must be is the handler's to ask. */
export const Rights = (...kinds: TokenKind[]) => SetMetadata<string, RouteRights>(RIGHTS, kinds);

/** Declares that a route wants no token. */
export const OpenToAnybody = () => SetMetadata<string, RouteRights>(RIGHTS, 'anybody');
