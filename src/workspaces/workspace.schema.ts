import { EntitySchema } from 'typeorm';
import { instant, text } from '../database/columns.js';

/** The office in which agents and tasks live; nothing of one is visible in another. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

/** One pressing of the kill switch: a record, so that who, when and why outlive the pause. */
export interface WorkspacePause {
  readonly id: string;
  readonly workspaceId: string;
  readonly reason: string;
  readonly pausedBy: string;
  readonly pausedByKind: string;
  readonly pausedAt: number;
  readonly releasedBy: string | null;
  readonly releasedByKind: string | null;
  readonly releasedAt: number | null;
}

export const WorkspaceSchema = new EntitySchema<Workspace>({
  name: 'workspaces',
  columns: {
    id: text('id', { primary: true }),
    name: text('name'),
    createdAt: instant('created_at'),
  },
});

/** A workspace has at most one pause that nobody has released. */
export const OPEN_PAUSE_INDEX = {
  name: 'workspace_pauses_open',
  table: 'workspace_pauses',
  columns: ['workspace_id'],
} as const;

/** In SQL: whether the workspace of the given column is paused. */
export function paused(workspaceId: string): string {
  return `EXISTS (SELECT 1 FROM workspace_pauses pause WHERE pause.workspace_id = ${workspaceId} AND pause.released_at IS NULL)`;
}

export const WorkspacePauseSchema = new EntitySchema<WorkspacePause>({
  name: 'workspace_pauses',
  columns: {
    id: text('id', { primary: true }),
    workspaceId: text('workspace_id'),
    reason: text('reason'),
    pausedBy: text('paused_by'),
    pausedByKind: text('paused_by_kind'),
    pausedAt: instant('paused_at'),
    releasedBy: text('released_by', { nullable: true }),
    releasedByKind: text('released_by_kind', { nullable: true }),
    releasedAt: instant('released_at', { nullable: true }),
  },
  indices: [
    { name: OPEN_PAUSE_INDEX.name, columns: ['workspaceId'], unique: true, where: 'released_at IS NULL' },
  ],
});
