import { AgentSchema } from './agents/agent.schema.js';
import { TokenSchema } from './auth/token.schema.js';
import type { SchemaOptions } from './database/data-source-options.js';
import { MIGRATIONS } from './database/migrations/migrations.js';
import { DecisionSchema } from './decisions/decision.schema.js';
import { EventSchema, EventSequenceSchema } from './events/event.schema.js';
import { RecoverySchema } from './office/recovery/recovery.schema.js';
import { NoteSchema } from './office/reactivity/note.schema.js';
import { QueueHeadSchema } from './runs/queue-head.schema.js';
import { RunSchema, RunWakeSchema } from './runs/run.schema.js';
import { SessionSchema } from './sessions/session.schema.js';
import { TaskBlockerSchema } from './tasks/task-blocker.schema.js';
import { TaskCommentSchema } from './tasks/task-comment.schema.js';
import { TaskParticipantSchema, TaskSchema } from './tasks/task.schema.js';
import { WorkspacePauseSchema, WorkspaceSchema } from './workspaces/workspace.schema.js';

/** Every table we own, and the migrations that build them. */
export const REVEILLE_SCHEMA = {
  entities: [
    AgentSchema,
    DecisionSchema,
    EventSchema,
    EventSequenceSchema,
    NoteSchema,
    QueueHeadSchema,
    RecoverySchema,
    RunSchema,
    RunWakeSchema,
    SessionSchema,
    TaskBlockerSchema,
    TaskCommentSchema,
    TaskParticipantSchema,
    TaskSchema,
    TokenSchema,
    WorkspacePauseSchema,
    WorkspaceSchema,
  ],
  migrations: [...MIGRATIONS],
} satisfies SchemaOptions;
