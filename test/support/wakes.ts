import { randomUUID } from 'node:crypto';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import type { Decision } from '../../src/scheduler/decision.js';
import type { DecidedOutcome } from '../../src/scheduler/queue-outcome.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import type { WakeRequest } from '../../src/scheduler/wake.js';
import { Transactions } from '../../src/database/transactions.js';
import type { Run } from '../../src/runs/run.schema.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { aTask, aWorkspace, anAgent } from '../../src/testing.js';
import type { TestReveille } from './reveille.js';

/** The agent who assigns, in payloads that say nothing else. */
export const ASSIGNER = 'the-agent-who-assigns';

/** The payload of an assignment that an agent made: what the allowance binds. */
export function agentAssignment(taskId: string, actorId = ASSIGNER): string {
  return JSON.stringify({ task_id: taskId, actor_type: 'agent', actor_id: actorId });
}

/** The same from a person. */
export function userAssignment(taskId: string): string {
  return JSON.stringify({ task_id: taskId, actor_type: 'user', actor_id: 'a-person' });
}

/** How many of the decisions have each outcome. */
export function outcomes(decisions: readonly Decision[]): Partial<Record<DecidedOutcome, number>> {
  const counts: Partial<Record<DecidedOutcome, number>> = {};
  for (const { outcome } of decisions) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Columns of a row as they are stored. */
type Columns = Readonly<Record<string, string | number | null>>;

/** A workspace of a test's own with one task in it, and the door through which its agents are woken. */
export class Workplace {
  private constructor(
    private readonly reveille: TestReveille,
    readonly workspaceId: string,
    readonly taskId: string,
  ) {}

  static async open(reveille: TestReveille): Promise<Workplace> {
    const { id } = await aWorkspace(reveille.app);
    return new Workplace(reveille, id, (await aTask(reveille.app, id)).id);
  }

  /** The same office, as another server on its database sees it. */
  at(reveille: TestReveille): Workplace {
    return new Workplace(reveille, this.workspaceId, this.taskId);
  }

  /** An agent whom nobody has woken yet, so that no wake for it finds anything to merge with. */
  async agent(): Promise<string> {
    return (await anAgent(this.reveille.app, this.workspaceId)).id;
  }

  /** So many of them. */
  agents(count: number): Promise<readonly string[]> {
    return this.times(count, () => this.agent());
  }

  /** Asks for a wake: an agent's assignment of the office's task to a fresh agent, unless the request says otherwise. */
  async wake(request: Partial<WakeRequest> = {}): Promise<Decision> {
    return this.reveille.get(SchedulerService).queueRun({
      agentProfileId: request.agentProfileId ?? (await this.agent()),
      reason: 'task_assigned',
      payload: agentAssignment(this.taskId),
      ...request,
    });
  }

  /** Asks for a wake and answers its run, which there must be. */
  async queued(request: Partial<WakeRequest> = {}): Promise<Run> {
    const { outcome, runId } = await this.wake(request);
    if (outcome !== 'queued' || runId === null) throw new Error(`The wake was ${outcome}, not queued.`);
    return this.run(runId);
  }

  /** Has as many wakes of the task admitted as its allowance holds, each for an agent of its own. */
  exhaust(request: Partial<WakeRequest> = {}): Promise<readonly Run[]> {
    return this.spend(ALLOWANCE_LIMIT, request);
  }

  /** Has so many wakes of the task admitted. */
  spend(count: number, request: Partial<WakeRequest> = {}): Promise<readonly Run[]> {
    return this.times(count, () => this.queued(request));
  }

  run(id: string): Promise<Run> {
    return this.reveille.get(RunsService).get(id);
  }

  /** Every run of the workspace, oldest first. */
  async runs(): Promise<readonly Run[]> {
    const { workspaceId } = this;
    return [...(await this.reveille.get(RunsService).list({ workspaceId }, null, 200))].reverse();
  }

  /** Changes columns of a run behind the server's back, as an operator would. */
  async alter(runId: string, columns: Columns): Promise<void> {
    for (const [column, value] of Object.entries(columns)) {
      await this.sql(`UPDATE runs SET ${column} = $1 WHERE id = $2`, [value, runId]);
    }
  }

  /** Stores a run's copy under another id and without a key, with columns of the test's choice, as nobody's admission. */
  async copy(runId: string, columns: Columns = {}): Promise<void> {
    const [row] = await this.sql<Record<string, Columns[string]>[]>('SELECT * FROM runs WHERE id = $1', [
      runId,
    ]);
    const copy = { ...row, id: randomUUID(), idempotency_key: null, ...columns };
    const places = Object.keys(copy).map((_, index) => `$${index + 1}`);
    await this.sql(
      `INSERT INTO runs (${Object.keys(copy).join(', ')}) VALUES (${places.join(', ')})`,
      Object.values(copy),
    );
  }

  async delete(runId: string): Promise<void> {
    await this.sql('DELETE FROM runs WHERE id = $1', [runId]);
  }

  /** Sends a statement of the test's own. */
  sql<T>(statement: string, parameters: readonly Columns[string][] = []): Promise<T> {
    const transactions = this.reveille.get(Transactions);
    return transactions.run(() => transactions.writing().query<T>(statement, [...parameters]));
  }

  /** Does the same several times over in one transaction: what only prepares a test need not wait for the disk each time. */
  private times<T>(count: number, work: () => Promise<T>): Promise<readonly T[]> {
    return this.reveille.get(Transactions).run(async () => {
      const results: T[] = [];
      while (results.length < count) results.push(await work());
      return results;
    });
  }
}
