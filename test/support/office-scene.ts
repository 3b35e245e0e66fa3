import { randomUUID } from 'node:crypto';
import { Transactions } from '../../src/database/transactions.js';
import { DecisionSchema, type StoredDecision } from '../../src/decisions/decision.schema.js';
import type { EventType } from '../../src/events/event.js';
import { EventSchema, type StoredEvent } from '../../src/events/event.schema.js';
import { type Note, NoteSchema } from '../../src/office/reactivity/note.schema.js';
import { type Run, RunSchema } from '../../src/runs/run.schema.js';
import { type Session, SessionSchema } from '../../src/sessions/session.schema.js';
import { type Task, TaskSchema } from '../../src/tasks/task.schema.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import type { Answer, Api } from './api.js';
import { type Office, anOffice } from './office.js';
import { asOutsider } from './outsider.js';
import { pick } from './pick.js';
import type { TestReveille } from './reveille.js';

/** What became of a wake, as the API tells it. */
export interface Reaction {
  readonly reason: string;
  readonly agentProfileId: string;
  readonly outcome: string;
  readonly runId: string | null;
  readonly error: string | null;
  readonly allowance: { readonly observed: number } | null;
}

/** The answer to a change of a task. */
interface Change {
  readonly task: Task;
  readonly reactions: readonly Reaction[];
}

/** A run that the office's worker holds. */
export interface HeldRun {
  readonly run: { readonly id: string };
  readonly claimToken: string;
  readonly agentToken: string;
}

/** An office, what is done in it over HTTP, and what the database keeps of it. */
export class OfficeScene {
  private constructor(
    private readonly reveille: TestReveille,
    readonly office: Office,
  ) {}

  static async open(reveille: TestReveille, agentCount = 2): Promise<OfficeScene> {
    return new OfficeScene(reveille, await anOffice(reveille, agentCount));
  }

  agent(index = 0): string {
    return pick(this.office.agents, index);
  }

  asAgent(index = 0): Api {
    return pick(this.office.asAgents, index);
  }

  /** Changes the office's task, unless another is named. */
  async change(
    changes: object,
    { by = this.office.user, taskId = this.office.taskId }: { by?: Api; taskId?: string } = {},
  ): Promise<Change> {
    return bodyOf(200, await by.patch<Change>(`/v1/tasks/${taskId}`, changes));
  }

  assign(agentProfileId: string | null, on: { by?: Api; taskId?: string } = {}): Promise<Change> {
    return this.change({ assigneeAgentProfileId: agentProfileId }, on);
  }

  /** Creates a task, an office task unless the input says otherwise. */
  async create(input: object = {}): Promise<Task & { readonly reactions: readonly Reaction[] }> {
    const { workspaceId, admin } = this.office;
    const body = { id: `t-${randomUUID()}`, workspaceId, title: 'Task', kind: 'office', ...input };
    return bodyOf(201, await admin.post('/v1/tasks', body));
  }

  /** A task of the first agent, unless the input says otherwise, whose run is lost. */
  async createForgotten(input: object = {}): Promise<string> {
    const { id } = await this.create({ assigneeAgentProfileId: this.agent(), ...input });
    await this.sql(`DELETE FROM runs WHERE task_id = $1 AND status = 'queued'`, [id]);
    return id;
  }

  async pause(): Promise<void> {
    const { user, workspaceId } = this.office;
    bodyOf(200, await user.put(`/v1/workspaces/${workspaceId}/pause`, { reason: 'a reason' }));
  }

  async resume(): Promise<void> {
    const { user, workspaceId } = this.office;
    bodyOf(204, await user.delete(`/v1/workspaces/${workspaceId}/pause`));
  }

  async setStatus(agentProfileId: string, status: string): Promise<void> {
    bodyOf(200, await this.office.user.patch(`/v1/agents/${agentProfileId}`, { status }));
  }

  async removeAgent(agentProfileId: string): Promise<void> {
    bodyOf(204, await this.office.admin.delete(`/v1/agents/${agentProfileId}`));
  }

  /** Claims the one run that waits. */
  async claim(): Promise<HeldRun> {
    const answer = await this.office.worker.post<{ claims: HeldRun[] }>('/v1/runs/claim', {
      workerId: 'worker',
      max: 10,
    });
    const { claims } = bodyOf(200, answer);
    expect(claims).toHaveLength(1);
    return pick(claims);
  }

  /** Says something of a held run as its holder. */
  report<Body = unknown>(
    { run, claimToken }: HeldRun,
    what: string,
    body: object = {},
  ): Promise<Answer<Body>> {
    return this.office.worker.post(`/v1/runs/${run.id}/${what}`, { claimToken, ...body });
  }

  /** Sweeps once, after so many milliseconds. */
  async sweep(milliseconds = 0): Promise<void> {
    this.reveille.clock.advance(milliseconds);
    await this.reveille.get(Sweeps).sweep();
  }

  /** The runs as they are stored, oldest first: those of one task, or all. */
  runs(taskId?: string): Promise<Run[]> {
    return this.reading().find(RunSchema, {
      where: { workspaceId: this.office.workspaceId, ...(taskId === undefined ? {} : { taskId }) },
      order: { requestedAt: 'ASC', id: 'ASC' },
    });
  }

  async task(id = this.office.taskId): Promise<Task | null> {
    return this.reading().findOneBy(TaskSchema, { id });
  }

  /** The wakes that are owed. */
  notes(): Promise<Note[]> {
    return this.reading().find(NoteSchema, this.all);
  }

  /** What is kept of the wakes that made no run. */
  decisions(): Promise<StoredDecision[]> {
    return this.reading().find(DecisionSchema, this.all);
  }

  sessions(): Promise<Session[]> {
    return this.reading().find(SessionSchema, this.all);
  }

  /** What was told of that type. */
  events(type: EventType): Promise<StoredEvent[]> {
    const { where, order } = this.all;
    return this.reading().find(EventSchema, { where: { ...where, type }, order });
  }

  /** Sends a statement as an operator would, behind the server's back. */
  sql<T = unknown>(statement: string, parameters: readonly unknown[] = []): Promise<T[]> {
    return asOutsider(this.reveille, (outsider) => outsider.query<T>(statement, parameters));
  }

  private get all() {
    return { where: { workspaceId: this.office.workspaceId }, order: { id: 'ASC' } } as const;
  }

  private reading() {
    return this.reveille.get(Transactions).reading();
  }
}

/** The body of an answer, which must have the given status. */
function bodyOf<Body>(status: number, answer: Answer<Body>): Body {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  return answer.body;
}
