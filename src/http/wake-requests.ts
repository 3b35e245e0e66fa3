import { Injectable } from '@nestjs/common';
import { AgentsService } from '../agents/agents.service.js';
import { type Principal, actorOf, keyScopeOf } from '../auth/principal.js';
import { ForbiddenError, PayloadTooLargeError } from '../errors/reveille-error.js';
import { isProducerKey } from '../office/dedup-keys.js';
import type { WakeRequest } from '../scheduler/wake.js';
import { visible } from './auth/visibility.js';
import { BODY_LIMIT } from './limits.js';
import { type WakeDto, wakeSchema } from './schemas/wake.dto.js';

/** Turns what callers send into wakes that they may ask for. */
@Injectable()
export class WakeRequests {
  constructor(private readonly agents: AgentsService) {}

  /**
   * The wake, with the caller as its actor whatever its payload says.
   *
   * @throws NotFoundError for an agent that the caller cannot see, ForbiddenError for what only others may ask for.
   */
  async of(caller: Principal, body: WakeDto): Promise<WakeRequest> {
    visible(caller, await this.agents.get(body.agentProfileId), 'agent');
    if (caller.kind === 'agent' && body.reason === 'task_assigned') {
      throw new ForbiddenError('An agent assigns a task by changing the task.');
    }
    if (caller.kind !== 'admin' && isProducerKey(body.idempotencyKey ?? '')) {
      throw new ForbiddenError('A key of that shape belongs to one of the producers.');
    }
    const actor = actorOf(caller);
    return {
      agentProfileId: body.agentProfileId,
      reason: body.reason,
      payload: JSON.stringify({ ...body.payload, actor_type: actor.type, actor_id: actor.id }),
      idempotencyKey: body.idempotencyKey,
      keyScope: keyScopeOf(caller),
    };
  }

  /** The same for an item of a batch, which is bound by the limits of a wake that comes alone. */
  async ofUnknown(caller: Principal, item: unknown): Promise<WakeRequest> {
    // In this order: only what has passed the schema is shallow enough to be written out again.
    const body = wakeSchema.parse(item);
    if (Buffer.byteLength(JSON.stringify(item)) > BODY_LIMIT) throw new PayloadTooLargeError();
    return this.of(caller, body);
  }
}
