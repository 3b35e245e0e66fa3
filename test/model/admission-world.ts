import { AgentsService } from '../../src/agents/agents.service.js';
import type { Claim } from '../../src/runs/claim.js';
import { Transactions } from '../../src/database/transactions.js';
import { DecisionsService } from '../../src/decisions/decisions.service.js';
import { RunWakeSchema } from '../../src/runs/run.schema.js';
import { RunsService } from '../../src/runs/runs.service.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { aWorkspace, anAgent } from '../../src/testing.js';
import type { TestReveille } from '../support/reveille.js';
import type { AdmissionModel, ModelRun, ModelWake } from './admission-model.js';
import { countersOf, moved } from './counters.js';

const OPERATOR = { kind: 'user', id: 'somebody' };
const ALL = 1000;

/** A workspace of the real Reveille beside its model: what is done to one is done to both, and then they are compared. */
export class AdmissionWorld {
  /** The real run behind each of the model's. */
  readonly ids = new Map<ModelRun, string>();
  readonly held = new Map<ModelRun, Claim>();

  private constructor(
    readonly reveille: TestReveille,
    readonly workspaceId: string,
    private readonly agents: readonly string[],
    private readonly countersBefore: ReadonlyMap<string, number>,
  ) {}

  static async make(reveille: TestReveille, agentCount: number): Promise<AdmissionWorld> {
    const { workspaceId, agents } = await reveille.get(Transactions).run(async () => {
      const { id } = await aWorkspace(reveille.app);
      const made: string[] = [];
      for (let number = 0; number < agentCount; number++) made.push((await anAgent(reveille.app, id)).id);
      return { workspaceId: id, agents: made };
    });
    return new AdmissionWorld(reveille, workspaceId, agents, await countersOf(reveille));
  }

  agent(number: number): string {
    const id = this.agents[number];
    if (id === undefined) throw new Error('The model has more agents than the world.');
    return id;
  }

  request(wake: ModelWake) {
    const { reason, payload, key } = wake;
    return { agentProfileId: this.agent(wake.agent), reason, payload: payload.text, idempotencyKey: key };
  }

  get scheduler(): SchedulerService {
    return this.reveille.get(SchedulerService);
  }

  get runs(): RunsService {
    return this.reveille.get(RunsService);
  }

  async pause(): Promise<void> {
    await this.reveille.get(WorkspacesService).pause(this.workspaceId, 'a reason', OPERATOR);
  }

  async resume(): Promise<void> {
    await this.reveille.get(WorkspacesService).resume(this.workspaceId, OPERATOR);
  }

  async setRunnable(agent: number, isRunnable: boolean): Promise<void> {
    await this.reveille
      .get(AgentsService)
      .update(this.agent(agent), { status: isRunnable ? 'idle' : 'paused' });
  }

  async delete(run: ModelRun): Promise<void> {
    const transactions = this.reveille.get(Transactions);
    await transactions.run(() =>
      transactions.writing().query('DELETE FROM runs WHERE id = $1', [this.ids.get(run)]),
    );
  }

  /** Everything that the model knows of, read from the database and the metrics. */
  async expectEqual(model: AdmissionModel): Promise<void> {
    expect(await this.storedRuns()).toEqual(model.runs.map((run) => this.shown(run)).sort(byId));
    expect(await this.storedLedger()).toEqual(
      model.ledger.map(({ run, payload, key, at }) => [this.ids.get(run), payload.text, key, at]).sort(),
    );
    expect(await this.storedDecisions()).toEqual(
      model.decisions
        .map(({ agent, taskId, reason, outcome, error, firstAt, count }) =>
          JSON.stringify([this.agent(agent), taskId, reason, outcome, error, firstAt, count]),
        )
        .sort(),
    );
    expect(moved(this.countersBefore, await countersOf(this.reveille))).toEqual(
      new Map([...model.counters].sort()),
    );
  }

  private async storedRuns() {
    const runs = await this.runs.list({ workspaceId: this.workspaceId }, null, ALL);
    return runs
      .map(({ id, agentProfileId, reason, payload, taskId, actorType, actorId, status, ...run }) => ({
        id,
        agentProfileId,
        reason,
        payload,
        taskId,
        actorType,
        actorId,
        status,
        count: run.coalescedCount,
        key: run.idempotencyKey,
        at: run.requestedAt,
      }))
      .sort(byId);
  }

  private shown(run: ModelRun): { readonly id: string | undefined } {
    const { text, actorType, actorId } = run.payload;
    const { reason, taskId, status, count, key, at } = run;
    const row = { agentProfileId: this.agent(run.agent), reason, payload: text, taskId, actorType, actorId };
    return { id: this.ids.get(run), ...row, ...{ status, count, key, at } };
  }

  private async storedLedger() {
    const reading = this.reveille.get(Transactions).reading();
    const wakes = await reading.findBy(RunWakeSchema, { workspaceId: this.workspaceId });
    return wakes
      .map(({ runId, payload, idempotencyKey, requestedAt }) => [runId, payload, idempotencyKey, requestedAt])
      .sort();
  }

  private async storedDecisions() {
    const kept = await this.reveille.get(DecisionsService).list({ workspaceId: this.workspaceId }, null, ALL);
    return kept
      .map(({ agentProfileId, taskId, reason, outcome, error, firstAt, count }) =>
        JSON.stringify([agentProfileId, taskId, reason, outcome, error, firstAt, count]),
      )
      .sort();
  }
}

function byId(one: { readonly id: string | undefined }, other: { readonly id: string | undefined }): number {
  return (one.id ?? '') < (other.id ?? '') ? -1 : 1;
}
