import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { pageQuery } from '../paging.js';
import { id, instant, shortText } from './fields.js';

export class CreateWorkspaceDto extends createZodDto(
  z.strictObject({ id: id.optional(), name: shortText }),
) {}

export class OnboardingDto extends createZodDto(z.strictObject({ agentProfileId: id, title: shortText })) {}

export class PauseWorkspaceDto extends createZodDto(z.strictObject({ reason: shortText })) {}

export class PageDto extends createZodDto(z.strictObject(pageQuery)) {}

export class CreateTokenDto extends createZodDto(
  z.strictObject({
    kind: z.enum(['user', 'worker']),
    name: shortText,
    subject: shortText.optional(),
    agentProfileIds: z.array(id).max(1000).optional(),
    expiresAt: instant.optional(),
  }),
) {}
