import { Injectable } from '@nestjs/common';
import { Brackets } from 'typeorm';
import type { Window } from '../clock/window.js';
import { type InstantPlace, newestFirst, onlyWhere } from '../database/listing.js';
import { Transactions } from '../database/transactions.js';
import { type Run, RunSchema, type RunStatus, type RunWake, RunWakeSchema } from './run.schema.js';

/** Which runs a list shows; what is left open is not asked. */
export type RunFilter = Readonly<
  Partial<Record<'workspaceId' | 'agentProfileId' | 'taskId' | 'reason', string | undefined>>
> & { readonly status?: RunStatus | undefined };

/** What two wakes must have in common to be merged. */
export interface MergeKey {
  readonly agentProfileId: string;
  readonly reason: string;
  readonly taskId: string;
  /** Rows requested at this instant or earlier are too old. */
  readonly after: number;
  /** Rows whose key begins so stay by themselves. */
  readonly exceptKeyPrefix: string;
}

/** A key and whose it is. */
export interface ScopedKey {
  readonly workspaceId: string;
  readonly keyScope: string;
  readonly idempotencyKey: string;
}

/** Every statement by which runs are admitted and read. */
@Injectable()
export class RunsRepository {
  constructor(private readonly transactions: Transactions) {}

  async insert(run: Run): Promise<void> {
    await this.transactions.writing().insert(RunSchema, run);
  }

  find(id: string): Promise<Run | null> {
    return this.transactions.reading().findOneBy(RunSchema, { id });
  }

  /** Newest first. */
  page(filter: RunFilter, after: InstantPlace | null, limit: number): Promise<Run[]> {
    const query = this.transactions.reading().createQueryBuilder(RunSchema, 'run');
    return newestFirst(onlyWhere(query, filter), 'requestedAt', { after, limit });
  }

  /** The run whose own key it is, when that was requested after the given instant. */
  findByOwnKey(key: ScopedKey, after: number): Promise<Run | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where(SAME_KEY('run'), key)
      .andWhere('run.requestedAt > :after', { after })
      .getOne();
  }

  /** The run into which a wake with that key was merged, when that happened after the given instant. */
  async findByMergedKey(key: ScopedKey, after: number): Promise<Run | null> {
    const wake = await this.transactions
      .reading()
      .createQueryBuilder(RunWakeSchema, 'wake')
      .where(SAME_KEY('wake'), key)
      .andWhere('wake.requestedAt > :after', { after })
      .getOne();
    return wake === null ? null : this.find(wake.runId);
  }

  /** The newest queued run that an equal wake may be merged into. One that waits for a retry would make it wait too. */
  newestMergeable(wanted: MergeKey): Promise<Run | null> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .where('run.agentProfileId = :agentProfileId AND run.reason = :reason AND run.taskId = :taskId', {
        ...wanted,
      })
      .andWhere(`run.status = 'queued' AND run.scheduledRetryAt IS NULL`)
      .andWhere('run.requestedAt > :after', { after: wanted.after })
      .andWhere(
        new Brackets((own) => {
          own
            .where('run.idempotencyKey IS NULL')
            .orWhere('substr(run.idempotencyKey, 1, :length) <> :prefix', {
              length: wanted.exceptKeyPrefix.length,
              prefix: wanted.exceptKeyPrefix,
            });
        }),
      )
      .orderBy('run.requestedAt', 'DESC')
      .addOrderBy('run.id', 'DESC')
      .limit(1)
      .getOne();
  }

  /** Puts a wake's payload on a queued run, and answers false when the run has left the queue meanwhile. */
  async merge(run: Run, wake: Pick<RunWake, 'payload' | 'actorType' | 'actorId'>): Promise<boolean> {
    const { payload, actorType, actorId } = wake;
    const result = await this.transactions
      .writing()
      .createQueryBuilder()
      .update(RunSchema)
      .set({ payload, actorType, actorId, coalescedCount: () => 'coalesced_count + 1' })
      .where(`id = :id AND status = 'queued'`, { id: run.id })
      .execute();
    return result.affected === 1;
  }

  /** The instants of the agent-made assignment wakes of one task in the window, newest first, whatever became of them. */
  async agentAssignments(workspaceId: string, taskId: string, window: Window): Promise<readonly number[]> {
    const rows = await this.transactions
      .reading()
      .createQueryBuilder(RunSchema, 'run')
      .select('run.requestedAt', 'at')
      .where('run.workspaceId = :workspaceId AND run.taskId = :taskId', { workspaceId, taskId })
      .andWhere(`run.reason = 'task_assigned' AND run.actorType = 'agent'`)
      .andWhere('run.requestedAt > :start AND run.requestedAt <= :end', { ...window })
      .orderBy('run.requestedAt', 'DESC')
      .getRawMany<{ at: string | number }>();
    return rows.map(({ at }) => Number(at));
  }

  async insertWake(wake: RunWake): Promise<void> {
    await this.transactions.writing().insert(RunWakeSchema, wake);
  }

  /** Frees a merged-away key whose run is gone. */
  async forgetMergedKey(key: ScopedKey): Promise<void> {
    await this.transactions.writing().delete(RunWakeSchema, { ...key });
  }

  /** Lets go of every key that the run holds, its own and those merged in it. */
  async freeKeys(runId: string): Promise<void> {
    const manager = this.transactions.writing();
    await manager.update(RunSchema, { id: runId }, { idempotencyKey: null });
    await manager.update(RunWakeSchema, { runId }, { idempotencyKey: null });
  }

  /** The wakes merged in a run, oldest first, at most `limit`; none when the run answers a single wake. */
  wakesOf(runId: string, limit: number): Promise<RunWake[]> {
    return this.transactions
      .reading()
      .createQueryBuilder(RunWakeSchema, 'wake')
      .where('wake.runId = :runId', { runId })
      .orderBy('wake.requestedAt')
      .addOrderBy('wake.id')
      .limit(limit)
      .getMany();
  }
}

const SAME_KEY = (alias: string) =>
  `${alias}.workspaceId = :workspaceId AND ${alias}.keyScope = :keyScope AND ${alias}.idempotencyKey = :idempotencyKey`;
