import { EntitySchema } from 'typeorm';
import { instant, integer, text } from '../database/columns.js';

export const TASK_KINDS = ['office', 'kanban'] as const;
export const TASK_PRIORITIES = ['low', 'medium', 'high', 'urgent'] as const;
export const TASK_STATES = [
  'TODO',
  'CREATED',
  'SCHEDULING',
  'IN_PROGRESS',
  'WAITING_FOR_INPUT',
  'REVIEW',
  'BLOCKED',
  'FAILED',
  'COMPLETED',
  'CANCELLED',
  'BACKLOG',
] as const;
export const PARTICIPANT_ROLES = ['reviewer', 'approver', 'watcher'] as const;

export type TaskKind = (typeof TASK_KINDS)[number];
export type TaskState = (typeof TASK_STATES)[number];
export type TaskPriority = (typeof TASK_PRIORITIES)[number];
export type ParticipantRole = (typeof PARTICIPANT_ROLES)[number];

/** A piece of work. */
export interface Task {
  readonly id: string;
  readonly workspaceId: string;
  readonly title: string;
  readonly kind: TaskKind;
  readonly state: TaskState;
  readonly priority: TaskPriority;
  readonly parentId: string | null;
  readonly assigneeAgentProfileId: string | null;
  /** How often the assignee has been written, clearing included: 0 means never. It tells one assignment from the next. */
  readonly assignmentGeneration: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A role that an agent holds on a task beside being its assignee. */
export interface TaskParticipant {
  readonly taskId: string;
  readonly agentProfileId: string;
  readonly role: ParticipantRole;
  readonly workspaceId: string;
  readonly createdAt: number;
}

export const TaskSchema = new EntitySchema<Task>({
  name: 'tasks',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    title: text('title'),
    kind: text('kind'),
    state: text('state'),
    priority: text('priority'),
    parentId: text('parent_id', { nullable: true }),
    assigneeAgentProfileId: text('assignee_agent_profile_id', { nullable: true }),
    assignmentGeneration: integer('assignment_generation'),
    createdAt: instant('created_at'),
    updatedAt: instant('updated_at'),
  },
  indices: [
    { name: 'tasks_workspace', columns: ['workspaceId', 'id'] },
    { name: 'tasks_parent', columns: ['parentId'], where: 'parent_id IS NOT NULL' },
    {
      name: 'tasks_assignee',
      columns: ['assigneeAgentProfileId'],
      where: 'assignee_agent_profile_id IS NOT NULL',
    },
    {
      name: 'tasks_unstarted',
      columns: ['createdAt', 'id'],
      where: `kind = 'office' AND state = 'TODO' AND assignee_agent_profile_id IS NOT NULL`,
    },
  ],
});

export const TaskParticipantSchema = new EntitySchema<TaskParticipant>({
  name: 'task_participants',
  columns: {
    taskId: text('task_id', { primary: true }),
    agentProfileId: text('agent_profile_id', { primary: true }),
    role: text('role', { primary: true }),
    workspaceId: text('workspace_id'),
    createdAt: instant('created_at'),
  },
});
