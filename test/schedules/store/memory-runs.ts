import type { Window } from '../../../src/clock/window.js';
import type { Transactions } from '../../../src/database/transactions.js';
import type { Run, RunWake } from '../../../src/runs/run.schema.js';
import { type MergeKey, RunsRepository, type ScopedKey } from '../../../src/runs/runs.repository.js';
import { sessionsOf } from './memory-connections.js';

/** The statements by which runs are admitted, over the store in memory. */
export class MemoryRuns extends RunsRepository {
  private readonly sessions;

  constructor(transactions: Transactions) {
    super(transactions);
    this.sessions = sessionsOf(transactions);
  }

  override insert(run: Run): Promise<void> {
    return this.sessions.writing().statement('insert a run', (session) => {
      session.store.runs.insert(session, run);
    });
  }

  override find(id: string): Promise<Run | null> {
    return this.read('find a run', (runs) => runs.find((run) => run.id === id));
  }

  override findByOwnKey(key: ScopedKey, after: number): Promise<Run | null> {
    return this.read('look for the key', (runs) =>
      runs.find((run) => hasKey(run, key) && run.requestedAt > after),
    );
  }

  override async findByMergedKey(key: ScopedKey, after: number): Promise<Run | null> {
    const wake = await this.sessions
      .reading()
      .statement('look for the merged key', (session) =>
        session.store.ledger.seenBy(session).find((row) => hasKey(row, key) && row.requestedAt > after),
      );
    return wake === undefined ? null : this.find(wake.runId);
  }

  override newestMergeable(wanted: MergeKey): Promise<Run | null> {
    return this.read('look for a run to merge with', (runs) =>
      runs
        .filter((run) => isMergeable(run, wanted))
        .sort(newestFirst)
        .at(0),
    );
  }

  override async merge(
    { id }: Run,
    { payload, actorType, actorId }: Pick<RunWake, 'payload' | 'actorType' | 'actorId'>,
  ): Promise<boolean> {
    const changed = await this.sessions.writing().statement('merge', (session) =>
      session.store.runs.update(
        session,
        (run) => run.id === id && run.status === 'queued',
        (run) => ({ ...run, payload, actorType, actorId, coalescedCount: run.coalescedCount + 1 }),
      ),
    );
    return changed === 1;
  }

  override agentAssignments(workspaceId: string, taskId: string, { start, end }: Window) {
    return this.sessions.reading().statement('count assignments', (session) =>
      session.store.runs
        .seenBy(session)
        .filter((run) => run.workspaceId === workspaceId && run.taskId === taskId)
        .filter(({ reason, actorType }) => reason === 'task_assigned' && actorType === 'agent')
        .map(({ requestedAt }) => requestedAt)
        .filter((at) => at > start && at <= end)
        .sort((one, other) => other - one),
    );
  }

  override insertWake(wake: RunWake): Promise<void> {
    return this.sessions.writing().statement('note a wake', (session) => {
      session.store.ledger.insert(session, wake);
    });
  }

  override forgetMergedKey(key: ScopedKey): Promise<void> {
    return this.sessions.writing().statement('forget a merged key', (session) => {
      session.store.ledger.delete(session, (wake) => hasKey(wake, key));
    });
  }

  override wakesOf(id: string, limit: number): Promise<RunWake[]> {
    return this.sessions.reading().statement('read the wakes of a run', (session) =>
      session.store.ledger
        .seenBy(session)
        .filter(({ runId }) => runId === id)
        .sort((one, other) => -newestFirst(one, other))
        .slice(0, limit),
    );
  }

  private async read(what: string, pick: (runs: readonly Run[]) => Run | undefined): Promise<Run | null> {
    const found = await this.sessions
      .reading()
      .statement(what, (session) => pick(session.store.runs.seenBy(session)));
    return found ?? null;
  }
}

function hasKey(row: Run | RunWake, { workspaceId, keyScope, idempotencyKey }: ScopedKey): boolean {
  return (
    row.workspaceId === workspaceId && row.keyScope === keyScope && row.idempotencyKey === idempotencyKey
  );
}

function isMergeable(
  run: Run,
  { agentProfileId, reason, taskId, after, exceptKeyPrefix }: MergeKey,
): boolean {
  const isEqual = run.agentProfileId === agentProfileId && run.reason === reason && run.taskId === taskId;
  const isWaiting = run.status === 'queued' && run.scheduledRetryAt === null && run.requestedAt > after;
  return isEqual && isWaiting && run.idempotencyKey?.startsWith(exceptKeyPrefix) !== true;
}

type Dated = Pick<Run, 'requestedAt' | 'id'>;

export function newestFirst(one: Dated, other: Dated): number {
  return other.requestedAt - one.requestedAt || (other.id < one.id ? -1 : 1);
}
