import { Injectable } from '@nestjs/common';
import { byId } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import {
  type Workspace,
  type WorkspacePause,
  WorkspacePauseSchema,
  WorkspaceSchema,
} from './workspace.schema.js';

/** Every statement over workspaces and their pauses. */
@Injectable()
export class WorkspacesRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(workspace: Workspace): Promise<void> {
    await this.transactions.writing().insert(WorkspaceSchema, workspace);
  }

  find(id: string): Promise<Workspace | null> {
    return this.transactions.reading().findOneBy(WorkspaceSchema, { id });
  }

  /** Oldest first by id, after the given one. */
  page(after: string | null, limit: number): Promise<Workspace[]> {
    return byId(this.transactions.reading().createQueryBuilder(WorkspaceSchema, 'workspace'), after, limit);
  }

  /** The pause in force, if any. Nothing is cached: each call asks the database. */
  openPause(workspaceId: string): Promise<WorkspacePause | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(WorkspacePauseSchema, 'pause')
      .where('pause.workspaceId = :workspaceId AND pause.releasedAt IS NULL', { workspaceId })
      .getOne();
  }

  /** For how much of the time between two instants the workspace was paused, in milliseconds. */
  async pausedBetween(workspaceId: string, from: number, to: number): Promise<number> {
    const pauses = await this.transactions
      .reading()
      .createQueryBuilder(WorkspacePauseSchema, 'pause')
      .where('pause.workspaceId = :workspaceId AND pause.pausedAt < :to', { workspaceId, to })
      .andWhere('(pause.releasedAt IS NULL OR pause.releasedAt > :from)', { from })
      .getMany();
    // There is never more than one open pause, so no time is counted twice.
    return pauses.reduce(
      (sum, { pausedAt, releasedAt }) => sum + Math.min(releasedAt ?? to, to) - Math.max(pausedAt, from),
      0,
    );
  }

  async insertPause(pause: WorkspacePause): Promise<void> {
    await this.transactions.writing().insert(WorkspacePauseSchema, pause);
  }

  /** Releases the pause in force and answers whether there was one. */
  async releasePause(
    workspaceId: string,
    release: Pick<WorkspacePause, 'releasedAt' | 'releasedBy' | 'releasedByKind'>,
  ): Promise<boolean> {
    const result = await this.transactions
      .writing()
      .createQueryBuilder()
      .update(WorkspacePauseSchema)
      .set(release)
      .where('workspace_id = :workspaceId AND released_at IS NULL', { workspaceId })
      .execute();
    return result.affected === 1;
  }
}
