import { Injectable } from '@nestjs/common';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../events/event-log.js';
import { Ids } from '../random/ids.js';
import { WAKES_LIMIT } from '../runs/claim.js';
import { type Run, RUN_KEY_INDEX, RUN_WAKE_KEY_INDEX } from '../runs/run.schema.js';
import { subjectOf } from '../runs/run-subject.js';
import { RunSignal } from '../runs/run-signal.js';
import { RunsRepository } from '../runs/runs.repository.js';
import type { Wake } from './wake.js';

/** Before every instant. */
const EVER = -1;

/** The wake's key belongs to another run: the unique index has decided. */
export class KeyTakenError extends Error {
  constructor(options: ErrorOptions) {
    super('The key belongs to another run.', options);
  }
}

/** The two ways in which a wake enters the queue: a row of its own, or a place in somebody else's. */
@Injectable()
export class RunQueue {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly runs: RunsRepository,
    private readonly events: EventLog,
    private readonly signal: RunSignal,
    private readonly ids: Ids,
  ) {}

  /**
   * The sixth step: a new row, its event, and a hint to whoever waits for work.
   *
   * @throws KeyTakenError when another run has the key.
   */
  async insert(wake: Wake, workspaceId: string): Promise<Run> {
    const run = newRun(this.ids.next(), workspaceId, wake);
    await this.unlessKeyTaken(wake, () => this.runs.insert(run));
    await this.announce(run);
    return run;
  }

  /**
   * A new row for what an ended run was to do. Every wake that was merged in that is told again, as many as a claim
   * tells of: what only their payloads say would be lost otherwise. Their keys stay with the ended run.
   */
  async insertAgain(wake: Wake, ended: Run): Promise<Run> {
    const merged = await this.runs.wakesOf(ended.id, WAKES_LIMIT);
    const run: Run = {
      ...newRun(this.ids.next(), ended.workspaceId, wake),
      coalescedCount: merged.length === 0 ? 1 : ended.coalescedCount,
      retryOf: ended.id,
    };
    await this.runs.insert(run);
    for (const one of merged) {
      const id = one.id === ended.id ? run.id : this.ids.next();
      await this.note(run, { ...one, id, idempotencyKey: null });
    }
    await this.announce(run);
    return run;
  }

  /**
   * Merges the wake into a queued run, which keeps its instant, key and id, and notes it in the ledger, so that
   * neither its payload nor its key is lost. False when the run has left the queue meanwhile.
   *
   * @throws KeyTakenError when another run has the key.
   */
  async merge(wake: Wake, into: Run): Promise<boolean> {
    const { payload, facts, requestedAt, idempotencyKey, keyScope } = wake;
    const merged = { payload, actorType: facts.actorType, actorId: facts.actorId };
    if (!(await this.runs.merge(into, merged))) return false;
    // Until the first merge a run's own row is all there is to know; the payload it had is forgotten now, its key is not.
    // The entry has the run's own id, by which it is known from those that were merged.
    if (await this.isFirstMerge(into)) await this.note(into, { ...into, idempotencyKey: null });
    await this.unlessKeyTaken(wake, () =>
      this.note(into, { id: this.ids.next(), ...merged, requestedAt, idempotencyKey, keyScope }),
    );
    return true;
  }

  /** The run whose own key the wake's is, however long ago. */
  async ownerOfKey({ idempotencyKey, keyScope }: Wake, workspaceId: string): Promise<Run | null> {
    if (idempotencyKey === null) return null;
    return this.runs.findByOwnKey({ workspaceId, keyScope, idempotencyKey }, EVER);
  }

  /** The run into which the wake's key was merged away, however long ago. */
  async ledgerOwnerOfKey({ idempotencyKey, keyScope }: Wake, workspaceId: string): Promise<Run | null> {
    if (idempotencyKey === null) return null;
    return this.runs.findByMergedKey({ workspaceId, keyScope, idempotencyKey }, EVER);
  }

  /** Frees the wake's key in the ledger, where only a row whose run is gone still has it. */
  async freeLedgerKey({ idempotencyKey, keyScope }: Wake, workspaceId: string): Promise<void> {
    if (idempotencyKey !== null) await this.runs.forgetMergedKey({ workspaceId, keyScope, idempotencyKey });
  }

  private async announce(run: Run): Promise<void> {
    const { workspaceId, reason, idempotencyKey, retryOf } = run;
    const data = { reason, idempotencyKey, ...(retryOf === null ? {} : { retryOf }) };
    await this.events.append({ type: 'run.queued', workspaceId, subject: subjectOf(run), data });
    this.transactions.afterCommit(() => {
      this.signal.send();
    });
  }

  /** Asked after the row was changed and so locked: what was read before may be somebody else's merge ago. */
  private async isFirstMerge({ id }: Run): Promise<boolean> {
    return (await this.runs.find(id))?.coalescedCount === 2;
  }

  private async note(
    run: Run,
    wake: Pick<
      Run,
      'id' | 'payload' | 'actorType' | 'actorId' | 'requestedAt' | 'idempotencyKey' | 'keyScope'
    >,
  ): Promise<void> {
    const { id, payload, actorType, actorId, requestedAt, idempotencyKey, keyScope } = wake;
    const { id: runId, workspaceId } = run;
    const fields = { payload, actorType, actorId, requestedAt, idempotencyKey, keyScope };
    await this.runs.insertWake({ id, runId, workspaceId, ...fields });
  }

  /** Only a statement that carries a key can violate its index, and only that needs undoing by itself. */
  private async unlessKeyTaken(wake: Wake, statement: () => Promise<void>): Promise<void> {
    if (wake.idempotencyKey === null) return statement();
    try {
      await this.transactions.savepoint(statement);
    } catch (error) {
      const indexes = [RUN_KEY_INDEX, RUN_WAKE_KEY_INDEX];
      if (indexes.some((index) => this.dialect.violates(error, index)))
        throw new KeyTakenError({ cause: error });
      throw error;
    }
  }
}

function newRun(id: string, workspaceId: string, wake: Wake): Run {
  return {
    id,
    workspaceId,
    agentProfileId: wake.agentProfileId,
    reason: wake.reason,
    payload: wake.payload,
    ...wake.facts,
    status: 'queued',
    coalescedCount: 1,
    idempotencyKey: wake.idempotencyKey,
    keyScope: wake.keyScope,
    requestedAt: wake.requestedAt,
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
  };
}
