import { AgentRemoval } from '../../src/office/agent-removal.service.js';
import { ParticipantsService } from '../../src/office/participants.service.js';
import { TasksService } from '../../src/office/tasks.service.js';
import { Transactions } from '../../src/database/transactions.js';
import { type StoredEvent, EventSchema } from '../../src/events/event.schema.js';
import { type Session, SessionSchema } from '../../src/sessions/session.schema.js';
import { SessionTurns } from '../../src/sessions/session-turns.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import { aTask, aWorkspace, anAgent } from '../../src/testing.js';
import { type Samples, samplesOf } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import type { TestReveille } from '../support/reveille.js';
import { aSession } from '../support/rows.js';
import {
  type ModelEvent,
  type ModelRow,
  type ModelTask,
  type SessionsModel,
  profileOf,
} from './sessions-model.js';

/** A workspace of the real Reveille beside its model: what is done to one is done to both, and then they are compared. */
export class SessionsWorld {
  private constructor(
    private readonly reveille: TestReveille,
    private readonly ids: { readonly workspace: string; readonly tasks: string[]; readonly agents: string[] },
    private readonly resultsBefore: Samples,
  ) {}

  static async make(
    reveille: TestReveille,
    kinds: readonly ModelTask['kind'][],
    agentCount: number,
  ): Promise<SessionsWorld> {
    const ids = await reveille.get(Transactions).run(async () => {
      const { id: workspace } = await aWorkspace(reveille.app);
      const tasks: string[] = [];
      const agents: string[] = [];
      for (const kind of kinds) tasks.push((await aTask(reveille.app, workspace, { kind })).id);
      while (agents.length < agentCount) {
        const executionProfileId = profileOf(agents.length);
        agents.push((await anAgent(reveille.app, workspace, { executionProfileId })).id);
      }
      return { workspace, tasks, agents };
    });
    return new SessionsWorld(reveille, ids, await resultsOf(reveille));
  }

  get now(): number {
    return this.reveille.clock.now();
  }

  advance(milliseconds: number): void {
    this.reveille.clock.advance(milliseconds);
  }

  get turns(): SessionTurns {
    return this.reveille.get(SessionTurns);
  }

  get sessions(): SessionsService {
    return this.reveille.get(SessionsService);
  }

  get mutations(): TasksService {
    return this.reveille.get(TasksService);
  }

  get participants(): ParticipantsService {
    return this.reveille.get(ParticipantsService);
  }

  get removal(): AgentRemoval {
    return this.reveille.get(AgentRemoval);
  }

  task(number: number): string {
    return pick(this.ids.tasks, number);
  }

  agent(number: number): string {
    return pick(this.ids.agents, number);
  }

  agentOrNull(number: number | null): string | null {
    return number === null ? null : this.agent(number);
  }

  /** An id that no other world has, with a given beginning. */
  legacyId(lead: string, number: number): string {
    return `${lead}-${this.ids.workspace}-${number}`;
  }

  /** Writes a row as it would be there from before: by SQL, asking and telling nobody. */
  async insert(row: ModelRow): Promise<void> {
    const transactions = this.reveille.get(Transactions);
    const { id, workspaceId, taskId, agentProfileId, executionProfileId, ...rest } = this.shown(row);
    await transactions.run(() =>
      transactions.writing().query(
        `INSERT INTO task_sessions (id, workspace_id, task_id, agent_profile_id, execution_profile_id, executor_id,
           state, metadata, is_primary, started_at, updated_at, completed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, false, $9, $10, $11)`,
        [
          ...[id, workspaceId, taskId, agentProfileId, executionProfileId, rest.executorId, rest.state],
          ...[JSON.stringify(rest.metadata), rest.startedAt, rest.updatedAt, rest.completedAt],
        ],
      ),
    );
  }

  /** The row as the real Reveille would answer it. */
  shown(row: ModelRow): Session {
    return aSession({
      id: row.id,
      workspaceId: this.ids.workspace,
      taskId: this.task(row.task),
      agentProfileId: this.agentOrNull(row.agent),
      executionProfileId: row.profile,
      executorId: row.executor,
      state: row.state,
      metadata: row.metadata,
      startedAt: row.startedAt,
      updatedAt: row.updatedAt,
      completedAt: row.completedAt,
    });
  }

  /** Everything that the model knows of, read from the database and the metrics. */
  async expectEqual(model: SessionsModel): Promise<void> {
    const workspaceId = this.ids.workspace;
    const reading = this.reveille.get(Transactions).reading();
    const stored = await reading.findBy(SessionSchema, { workspaceId });
    expect(stored.sort(byId)).toEqual(model.rows.map((row) => this.shown(row)).sort(byId));
    const events = await reading.findBy(EventSchema, { workspaceId });
    const told = events.filter(({ type }) => type.startsWith('session.')).map(wordsOf);
    expect(told.sort()).toEqual(model.events.map((event) => this.wordsOf(event)).sort());
    expect(await this.results()).toEqual(Object.fromEntries(model.results));
  }

  private wordsOf({ type, row, data }: ModelEvent): string {
    const { id, taskId, agentProfileId } = this.shown(row);
    return wordsOf({
      type,
      subject: { sessionId: id, taskId, ...(agentProfileId === null ? {} : { agentProfileId }) },
      data,
    });
  }

  private async results(): Promise<Record<string, number>> {
    const now = await resultsOf(this.reveille);
    const moved = [...now].map(
      ([labels, value]) => [labels, value - (this.resultsBefore.get(labels) ?? 0)] as const,
    );
    const named = moved.map(([labels, by]) => [/"(\w+)"/.exec(labels)?.[1] ?? labels, by] as const);
    return Object.fromEntries(named.filter(([, by]) => by !== 0));
  }
}

function resultsOf(reveille: TestReveille): Promise<Samples> {
  return samplesOf(reveille, 'office_sessions_total');
}

/** What an event says, but not when: events of one instant have no order that a rule speaks of. */
function wordsOf({ type, subject, data }: Pick<StoredEvent, 'type' | 'subject' | 'data'>): string {
  const { sessionId, taskId, agentProfileId } = subject;
  return JSON.stringify([type, sessionId, taskId, agentProfileId, data]);
}

function byId(one: Session, other: Session): number {
  return one.id < other.id ? -1 : 1;
}
