import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { SESSION_STATES } from '../../sessions/session-state.js';
import { pageQuery } from '../paging.js';
import { id } from './fields.js';

export class EnsureSessionDto extends createZodDto(
  z.strictObject({ agentProfileId: id, executionProfileId: id, executorId: id.optional() }),
) {}

export class LaunchSessionDto extends createZodDto(
  z.strictObject({ agentProfileId: id.optional(), executionProfileId: id }),
) {}

export class SpawnSessionDto extends createZodDto(z.strictObject({ agentProfileId: id.optional() })) {}

export class UpdateSessionDto extends createZodDto(z.strictObject({ state: z.enum(SESSION_STATES) })) {}

export class ListSessionsDto extends createZodDto(
  z.strictObject({ ...pageQuery, agentProfileId: id.optional(), state: z.enum(SESSION_STATES).optional() }),
) {}
