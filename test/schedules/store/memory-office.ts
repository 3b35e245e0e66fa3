import type { Agent } from '../../../src/agents/agent.schema.js';
import { AgentsRepository } from '../../../src/agents/agents.repository.js';
import type { Dialect } from '../../../src/database/dialect.js';
import type { Transactions } from '../../../src/database/transactions.js';
import type { Workspace, WorkspacePause } from '../../../src/workspaces/workspace.schema.js';
import { WorkspacesRepository } from '../../../src/workspaces/workspaces.repository.js';
import { sessionsOf } from './memory-connections.js';

/** The agents as admission reads them, over the store in memory. */
export class MemoryAgents extends AgentsRepository {
  private readonly sessions;

  constructor(transactions: Transactions, dialect: Dialect) {
    super(transactions, dialect);
    this.sessions = sessionsOf(transactions);
  }

  override async find(id: string): Promise<Agent | null> {
    const found = await this.sessions
      .reading()
      .statement('find the agent', (session) =>
        session.store.agents.seenBy(session).find((agent) => agent.id === id && agent.deletedAt === null),
      );
    return found ?? null;
  }
}

/** The workspaces and their kill switch, over the store in memory. */
export class MemoryWorkspaces extends WorkspacesRepository {
  private readonly sessions;

  constructor(transactions: Transactions) {
    super(transactions);
    this.sessions = sessionsOf(transactions);
  }

  override async find(id: string): Promise<Workspace | null> {
    const found = await this.sessions
      .reading()
      .statement('find the workspace', (session) =>
        session.store.workspaces.seenBy(session).find((workspace) => workspace.id === id),
      );
    return found ?? null;
  }

  override async openPause(workspaceId: string): Promise<WorkspacePause | null> {
    const found = await this.sessions
      .reading()
      .statement('look for a pause', (session) =>
        session.store.pauses.seenBy(session).find((pause) => isOpen(pause, workspaceId)),
      );
    return found ?? null;
  }

  override insertPause(pause: WorkspacePause): Promise<void> {
    return this.sessions.writing().statement('pause', (session) => {
      session.store.pauses.insert(session, pause);
    });
  }

  override async releasePause(
    workspaceId: string,
    release: Pick<WorkspacePause, 'releasedAt' | 'releasedBy' | 'releasedByKind'>,
  ): Promise<boolean> {
    const changed = await this.sessions.writing().statement('resume', (session) =>
      session.store.pauses.update(
        session,
        (pause) => isOpen(pause, workspaceId),
        (pause) => ({ ...pause, ...release }),
      ),
    );
    return changed === 1;
  }
}

function isOpen(pause: WorkspacePause, workspaceId: string): boolean {
  return pause.workspaceId === workspaceId && pause.releasedAt === null;
}
