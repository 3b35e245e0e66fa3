import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { PARTICIPANT_ROLES, TASK_KINDS, TASK_PRIORITIES, TASK_STATES } from '../../tasks/task.schema.js';
import { id, shortText } from './fields.js';

const state = z.enum(TASK_STATES).optional();
const priority = z.enum(TASK_PRIORITIES).optional();

export class CreateTaskDto extends createZodDto(
  z.strictObject({
    id: id.optional(),
    workspaceId: id,
    title: shortText,
    kind: z.enum(TASK_KINDS),
    assigneeAgentProfileId: id.optional(),
    state,
    parentId: id.optional(),
    priority,
  }),
) {}

export class UpdateTaskDto extends createZodDto(
  z.strictObject({
    assigneeAgentProfileId: id.nullable().optional(),
    state,
    title: shortText.optional(),
    priority,
  }),
) {}

export class AddParticipantDto extends createZodDto(z.strictObject({ role: z.enum(PARTICIPANT_ROLES) })) {}

export class RemoveParticipantDto extends createZodDto(
  z.strictObject({ role: z.enum(PARTICIPANT_ROLES).optional() }),
) {}
