import { aRun, aWake } from '../support/rows.js';
import type { Bench } from './bench.js';
import { Undone, ignoreUndone } from './undone.js';

/** Names that nothing else in the store has. */
let office = 0;

const payload = { payload: '{"new":true}', actorType: null, actorId: null };

/** One office on a bench, and the statements of the races in it. */
export class RaceCourse {
  private readonly name = `office-${office++}`;

  constructor(readonly bench: Bench) {}

  static async open(bench: Bench): Promise<RaceCourse> {
    const place = new RaceCourse(bench);
    await bench.addAgent(place.id('agent'), place.name);
    return place;
  }

  id(what: string): string {
    return `${this.name}/${what}`;
  }

  insert(what: string, idempotencyKey: string | null): Promise<void> {
    const { name: workspaceId } = this;
    const run = { id: this.id(what), workspaceId, agentProfileId: this.id('agent'), idempotencyKey };
    return this.bench.runs.insert(aRun(run));
  }

  /** One whose agent is known to wait. */
  async insertWaiting(what: string): Promise<void> {
    await this.insert(what, null);
    await this.bench.catchUp();
  }

  async insertTwo(): Promise<void> {
    await this.insert('one', null);
    await this.insert('two', null);
  }

  note(what: string, idempotencyKey: string): Promise<void> {
    const { name: workspaceId } = this;
    return this.bench.runs.insertWake(aWake({ id: this.id(what), workspaceId, idempotencyKey }));
  }

  merge(what: string): Promise<boolean> {
    return this.bench.runs.merge(aRun({ id: this.id(what) }), payload);
  }

  find(what: string) {
    return this.bench.runs.find(this.id(what));
  }

  lockAgents() {
    const scope = { workspaceId: this.name, agentProfileIds: null };
    return this.bench.claims.lockWaitingAgents(scope, [], 10);
  }

  lockName(): Promise<void> {
    return this.bench.dialect.lock(this.bench.transactions.writing(), [this.id('lock')]);
  }

  /** Does something in a step that fails. */
  async undone(work: () => Promise<unknown>): Promise<void> {
    const step = this.bench.transactions.savepoint(async () => {
      await work();
      throw new Undone();
    });
    await step.catch(ignoreUndone);
  }
}
