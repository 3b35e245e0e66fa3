import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { AgentsRepository } from '../agents/agents.repository.js';
import { windowEndingAt } from '../clock/window.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import type { Run } from '../runs/run.schema.js';
import { RunsRepository } from '../runs/runs.repository.js';
import type { WorkspacePause } from '../workspaces/workspace.schema.js';
import { WorkspacesRepository } from '../workspaces/workspaces.repository.js';
import {
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
  COMMENT_KEY_PREFIX,
  IDEMPOTENCY_WINDOW_MS,
} from './admission-limits.js';
import { FactReadError, type WakeFacts } from './wake-facts.js';
import type { Wake } from './wake.js';

/** Reads each fact in a statement of its own when its gate asks, so that a failed read is that gate's. */
@Injectable()
export class StepwiseFacts {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly agents: AgentsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly runs: RunsRepository,
  ) {}

  about(wake: Wake): WakeFacts {
    const agent = once(() => this.read('agent', () => this.agents.find(wake.agentProfileId)));
    const workspaceId = async () => workspaceOf(await agent());
    return {
      agent,
      pause: async () => this.pause(await workspaceId()),
      keyHolder: async () => this.keyHolder(wake, await workspaceId()),
      mergeTarget: () => this.mergeTarget(wake),
      admittedAssignments: async () => this.admittedAssignments(wake, await workspaceId()),
    };
  }

  private pause(workspaceId: string): Promise<WorkspacePause | null> {
    return this.read('pause', () => this.workspaces.openPause(workspaceId));
  }

  private keyHolder(
    { idempotencyKey, keyScope, requestedAt }: Wake,
    workspaceId: string,
  ): Promise<Run | null> {
    if (idempotencyKey === null) return Promise.resolve(null);
    const key = { workspaceId, keyScope, idempotencyKey };
    const after = requestedAt - IDEMPOTENCY_WINDOW_MS;
    return this.read(
      'key',
      async () => (await this.runs.findByOwnKey(key, after)) ?? this.runs.findByMergedKey(key, after),
    );
  }

  private mergeTarget({ agentProfileId, reason, facts, requestedAt }: Wake): Promise<Run | null> {
    const { taskId } = facts;
    if (taskId === null) return Promise.resolve(null);
    const after = requestedAt - COALESCING_WINDOW_MS;
    return this.read('queue', () =>
      this.runs.newestMergeable({
        agentProfileId,
        reason,
        taskId,
        after,
        exceptKeyPrefix: COMMENT_KEY_PREFIX,
      }),
    );
  }

  /** Under a savepoint: the gate that asks lets the wake through when the read fails, so the insert must still work. */
  private admittedAssignments({ facts, requestedAt }: Wake, workspaceId: string): Promise<readonly number[]> {
    const { taskId } = facts;
    if (taskId === null) return Promise.resolve([]);
    const window = windowEndingAt(requestedAt, ALLOWANCE_WINDOW_MS);
    return this.read('assignment count', () =>
      this.transactions.savepoint(() => this.runs.agentAssignments(workspaceId, taskId, window)),
    );
  }

  private async read<T>(fact: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (cause) {
      throw new FactReadError(fact, { cause, isCutShort: this.dialect.isDisconnected(cause) });
    }
  }
}

function once<T>(question: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => (answer ??= question());
}

/** The first gate lets no wake through whose agent is unknown. */
function workspaceOf(agent: Agent | null): string {
  if (agent === null) throw new Error('An unknown agent has no workspace.');
  return agent.workspaceId;
}
