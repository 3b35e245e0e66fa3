import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { SESSION_STATES } from '../../sessions/session-state.js';
import { pageQuery } from '../paging.js';
import { id } from './fields.js';

export class ListSessionsDto extends createZodDto(
  z.strictObject({ ...pageQuery, agentProfileId: id.optional(), state: z.enum(SESSION_STATES).optional() }),
) {}
