import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { QUEUE_OUTCOMES } from '../../scheduler/queue-outcome.js';
import { pageQuery } from '../paging.js';
import { callersKey, id, instant, payload, wakeReason } from './fields.js';

/** How many wakes one batch may hold. */
const BATCH_LIMIT = 1000;

/** A wake as callers put it. */
export const wakeSchema = z.strictObject({
  agentProfileId: id,
  reason: wakeReason,
  payload,
  idempotencyKey: callersKey.optional(),
});

export class WakeDto extends createZodDto(wakeSchema) {}

/** Each item is judged by itself, so that a malformed one fails alone. */
export class WakeBatchDto extends createZodDto(
  z.strictObject({ wakes: z.array(z.unknown()).max(BATCH_LIMIT) }),
) {}

export class ListDecisionsDto extends createZodDto(
  z.strictObject({
    ...pageQuery,
    taskId: id.optional(),
    agentProfileId: id.optional(),
    outcome: z.enum(QUEUE_OUTCOMES).optional(),
    from: instant.optional(),
    to: instant.optional(),
  }),
) {}
