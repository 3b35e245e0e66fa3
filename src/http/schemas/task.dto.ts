import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { PARTICIPANT_ROLES, TASK_KINDS, TASK_PRIORITIES, TASK_STATES } from '../../tasks/task.schema.js';
import { id, longText, shortText } from './fields.js';

const state = z.enum(TASK_STATES).optional();
const priority = z.enum(TASK_PRIORITIES).optional();

const comment = z.strictObject({
  body: longText.min(1, 'must not be empty'),
  mentions: z.array(id).max(1000).optional(),
});

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
    comment: comment.optional(),
  }),
) {}

export class CommentDto extends createZodDto(comment) {}

/** A transition without an id, or with none that says anything, is taken for one that its workflow does not know. */
export class AutoStartDto extends createZodDto(
  z.strictObject({
    stepId: id,
    stepTransitionId: z
      .union([z.int().min(0), id, z.literal('')])
      .optional()
      .transform((value) =>
        value === undefined || String(value) === '0' || value === '' ? null : String(value),
      ),
  }),
) {}

export class AddParticipantDto extends createZodDto(z.strictObject({ role: z.enum(PARTICIPANT_ROLES) })) {}

export class RemoveParticipantDto extends createZodDto(
  z.strictObject({ role: z.enum(PARTICIPANT_ROLES).optional() }),
) {}
