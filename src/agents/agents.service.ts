import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Dialect, primaryKeyOf } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { IdTakenError, NotFoundError } from '../errors/reveille-error.js';
import { Ids } from '../random/ids.js';
import { ResumeSignal } from '../workspaces/resume-signal.js';
import { mayAssignByDefault } from './agent-permissions.js';
import type { Agent } from './agent.schema.js';
import { AgentsRepository } from './agents.repository.js';

/** What can be said about an agent; everything but name and workspace has a default. */
export type AgentInput = Pick<Agent, 'workspaceId' | 'name'> & {
  readonly [K in Exclude<keyof Agent, 'workspaceId' | 'name' | 'createdAt' | 'updatedAt' | 'deletedAt'>]?:
    Agent[K] | undefined;
};

/** What can be changed about an agent. */
export type AgentChanges = {
  readonly [K in Exclude<keyof AgentInput, 'id' | 'workspaceId'>]?: Agent[K] | undefined;
};

const DEFAULTS = {
  role: 'worker',
  status: 'idle',
  command: null,
  executor: 'command',
  executionProfileId: 'default',
  permissionPolicy: 'refuse',
  workingDirectory: null,
  env: [],
  maxRunSeconds: 3600,
} as const;

/** The agents of a workspace. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly repository: AgentsRepository,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly resumed: ResumeSignal,
  ) {}

  /** @throws IdTakenError when the chosen id is in use, also by a deleted agent. */
  async create(input: AgentInput): Promise<Agent> {
    const now = this.clock.now();
    const agent: Agent = {
      id: this.ids.next(),
      ...DEFAULTS,
      canAssignTasks: mayAssignByDefault(input.role ?? DEFAULTS.role),
      ...given(input),
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    };
    try {
      await this.transactions.run(() => this.repository.insert(agent));
    } catch (error) {
      throw this.dialect.violates(error, primaryKeyOf('agents'))
        ? new IdTakenError('agent', { cause: error })
        : error;
    }
    return agent;
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Agent> {
    const agent = await this.repository.find(id);
    if (agent === null) throw new NotFoundError('agent');
    return agent;
  }

  list(workspaceId: string | null, after: string | null, limit: number): Promise<readonly Agent[]> {
    return this.repository.page(workspaceId, after, limit);
  }

  /** @throws NotFoundError */
  update(id: string, changes: AgentChanges): Promise<Agent> {
    return this.transactions.run(async () => {
      const agent = await this.get(id);
      const changed = { ...given(changes), updatedAt: this.clock.now() };
      await this.repository.update(id, changed);
      if (changes.status === 'idle') {
        this.transactions.afterCommit(() => {
          this.resumed.send();
        });
      }
      return { ...agent, ...changed };
    });
  }
}

/** The fields that were said, without those that were left open. */
function given<T extends object>(input: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
