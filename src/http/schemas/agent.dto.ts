import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import {
  AGENT_EXECUTORS,
  AGENT_ROLES,
  AGENT_STATUSES,
  PERMISSION_POLICIES,
} from '../../agents/agent.schema.js';
import { id, longText, shortText } from './fields.js';

const settings = {
  role: z.enum(AGENT_ROLES).optional(),
  canAssignTasks: z.boolean().optional(),
  command: z.array(longText).min(1).max(100).nullable().optional(),
  executor: z.enum(AGENT_EXECUTORS).optional(),
  executionProfileId: id.optional(),
  permissionPolicy: z.enum(PERMISSION_POLICIES).optional(),
  workingDirectory: longText.nullable().optional(),
  env: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of a variable'))
    .max(100)
    .optional(),
  maxRunSeconds: z.int().min(1).max(86_400).optional(),
};

export class CreateAgentDto extends createZodDto(
  z.strictObject({ id: id.optional(), workspaceId: id, name: shortText, ...settings }),
) {}

export class UpdateAgentDto extends createZodDto(
  z.strictObject({ name: shortText.optional(), status: z.enum(AGENT_STATUSES).optional(), ...settings }),
) {}
