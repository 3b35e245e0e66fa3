import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { RUN_STATUSES } from '../../runs/run.schema.js';
import { pageQuery } from '../paging.js';
import { id, longText, shortText, wakeReason } from './fields.js';

const claimToken = z.string().regex(/^[0-9a-f]{64}$/, 'is no claim token');
const leaseSeconds = z.int().min(1).max(3600).optional();

export class ListRunsDto extends createZodDto(
  z.strictObject({
    ...pageQuery,
    status: z.enum(RUN_STATUSES).optional(),
    agentProfileId: id.optional(),
    taskId: id.optional(),
    reason: wakeReason.optional(),
  }),
) {}

export class ClaimDto extends createZodDto(
  z.strictObject({
    workerId: shortText,
    max: z.int().min(1).max(100).optional(),
    agentProfileIds: z.array(id).max(1000).optional(),
    leaseSeconds,
    waitSeconds: z.int().min(0).max(60).optional(),
  }),
) {}

export class HeartbeatDto extends createZodDto(z.strictObject({ claimToken, leaseSeconds })) {}

export class ReleaseDto extends createZodDto(z.strictObject({ claimToken })) {}

export class OpenSessionDto extends createZodDto(z.strictObject({ claimToken, executionProfileId: id })) {}

export class FinishDto extends createZodDto(
  z.strictObject({ claimToken, outputSummary: longText.optional(), acpSessionId: shortText.optional() }),
) {}

export class FailDto extends createZodDto(
  z.strictObject({ claimToken, error: longText, retryable: z.boolean().optional() }),
) {}

export class CancelDto extends createZodDto(z.strictObject({ reason: shortText })) {}
