import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Dialect, primaryKeyOf } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { IdTakenError, NotFoundError } from '../errors/reveille-error.js';
import { EventLog } from '../events/event-log.js';
import { Ids } from '../random/ids.js';
import { ResumeSignal } from './resume-signal.js';
import { OPEN_PAUSE_INDEX, type Workspace, type WorkspacePause } from './workspace.schema.js';
import { WorkspacesRepository } from './workspaces.repository.js';

/** Who presses or releases the kill switch. */
export interface Operator {
  readonly kind: string;
  readonly id: string;
}

/** Workspaces and their kill switch. */
@Injectable()
export class WorkspacesService {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly repository: WorkspacesRepository,
    private readonly events: EventLog,
    private readonly resumed: ResumeSignal,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** @throws IdTakenError when the chosen id is in use. */
  async create(input: { id?: string | undefined; name: string }): Promise<Workspace> {
    const workspace: Workspace = {
      id: input.id ?? this.ids.next(),
      name: input.name,
      createdAt: this.clock.now(),
    };
    try {
      await this.transactions.run(() => this.repository.insert(workspace));
    } catch (error) {
      throw this.dialect.violates(error, primaryKeyOf('workspaces'))
        ? new IdTakenError('workspace', { cause: error })
        : error;
    }
    return workspace;
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<Workspace> {
    const workspace = await this.repository.find(id);
    if (workspace === null) throw new NotFoundError('workspace');
    return workspace;
  }

  list(after: string | null, limit: number): Promise<readonly Workspace[]> {
    return this.repository.page(after, limit);
  }

  /** The pause in force, or null. */
  pauseOf(workspaceId: string): Promise<WorkspacePause | null> {
    return this.repository.openPause(workspaceId);
  }

  /** Presses the kill switch. Pressing it again changes nothing and answers the pause in force. */
  async pause(workspaceId: string, reason: string, by: Operator): Promise<WorkspacePause> {
    await this.get(workspaceId);
    try {
      return await this.transactions.run(async () => this.pauseOnce(workspaceId, reason, by));
    } catch (error) {
      if (!this.dialect.violates(error, OPEN_PAUSE_INDEX)) throw error;
      // Somebody else pressed it in the same moment.
      return this.pause(workspaceId, reason, by);
    }
  }

  /** Releases the kill switch. Releasing it again changes nothing. */
  async resume(workspaceId: string, by: Operator): Promise<void> {
    await this.get(workspaceId);
    await this.transactions.run(async () => {
      const release = { releasedAt: this.clock.now(), releasedBy: by.id, releasedByKind: by.kind };
      if (!(await this.repository.releasePause(workspaceId, release))) return;
      await this.events.append({ type: 'workspace.resumed', workspaceId, subject: {} });
      this.transactions.afterCommit(() => {
        this.resumed.send();
      });
    });
  }

  private async pauseOnce(workspaceId: string, reason: string, by: Operator): Promise<WorkspacePause> {
    const open = await this.repository.openPause(workspaceId);
    if (open !== null) return open;
    const pause: WorkspacePause = {
      id: this.ids.next(),
      workspaceId,
      reason,
      pausedBy: by.id,
      pausedByKind: by.kind,
      pausedAt: this.clock.now(),
      releasedBy: null,
      releasedByKind: null,
      releasedAt: null,
    };
    await this.repository.insertPause(pause);
    await this.events.append({ type: 'workspace.paused', workspaceId, subject: {}, data: { reason } });
    return pause;
  }
}
