import type { Agent } from '../../src/agents/agent.schema.js';
import type { StoredDecision } from '../../src/decisions/decision.schema.js';
import type { Run, RunWake } from '../../src/runs/run.schema.js';
import type { Session } from '../../src/sessions/session.schema.js';
import type { WorkspacePause } from '../../src/workspaces/workspace.schema.js';

/** A queued run, with whatever the test cares about. */
export function aRun(given: Partial<Run>): Run {
  return {
    id: 'run',
    workspaceId: 'workspace',
    agentProfileId: 'agent',
    reason: 'task_assigned',
    payload: '{}',
    taskId: '',
    actorType: null,
    actorId: null,
    status: 'queued',
    coalescedCount: 1,
    idempotencyKey: null,
    keyScope: '',
    requestedAt: 0,
    claimedAt: null,
    finishedAt: null,
    retryCount: 0,
    attempt: 0,
    scheduledRetryAt: null,
    sessionId: null,
    executionProfileId: null,
    workerId: null,
    claimTokenHash: null,
    claimedByTokenId: null,
    leaseExpiresAt: null,
    interruptRequestedAt: null,
    outputSummary: null,
    errorMessage: null,
    cancelReason: null,
    isConclusive: null,
    retryOf: null,
    ...given,
  };
}

/** A wake that was merged in a run. */
export function aWake(given: Partial<RunWake>): RunWake {
  return {
    id: 'wake',
    runId: 'run',
    workspaceId: 'workspace',
    payload: '{}',
    actorType: null,
    actorId: null,
    idempotencyKey: null,
    keyScope: '',
    requestedAt: 0,
    ...given,
  };
}

/** An agent that may be woken, and that nobody has said anything about. */
export function anIdleAgent(given: Partial<Agent>): Agent {
  return {
    id: 'agent',
    workspaceId: 'workspace',
    name: 'Agent',
    role: 'worker',
    status: 'idle',
    canAssignTasks: true,
    command: null,
    executor: 'command',
    executionProfileId: 'default',
    permissionPolicy: 'refuse',
    workingDirectory: null,
    env: [],
    maxRunSeconds: 3600,
    createdAt: 0,
    updatedAt: 0,
    deletedAt: null,
    ...given,
  };
}

/** A kept decision that stands for one wake. */
export function aDecision(given: Partial<StoredDecision>): StoredDecision {
  return {
    id: 'decision',
    workspaceId: 'workspace',
    agentProfileId: 'agent',
    taskId: '',
    reason: 'task_assigned',
    outcome: 'coalesced',
    error: null,
    gate: null,
    actorType: null,
    actorId: null,
    runId: null,
    allowance: null,
    count: 1,
    firstAt: 0,
    lastAt: 0,
    ...given,
  };
}

/** The open pause of a workspace. */
export function aPause(given: Partial<WorkspacePause>): WorkspacePause {
  return {
    id: 'pause',
    workspaceId: 'paused',
    reason: '',
    pausedBy: 'somebody',
    pausedByKind: 'user',
    pausedAt: 0,
    releasedBy: null,
    releasedByKind: null,
    releasedAt: null,
    ...given,
  };
}

/** A session that was only just made. */
export function aSession(given: Partial<Session>): Session {
  return {
    id: 'session',
    taskId: 'task',
    workspaceId: 'workspace',
    agentProfileId: 'agent',
    executionProfileId: 'profile',
    executorId: null,
    state: 'CREATED',
    metadata: {},
    isPrimary: false,
    startedAt: 0,
    updatedAt: 0,
    completedAt: null,
    ...given,
  };
}
