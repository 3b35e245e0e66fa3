import { Transactions } from '../../src/database/transactions.js';
import { OfficeSessionCreator, type WantedSession } from '../../src/sessions/office-session-creator.js';
import type { EnsuredSession, SessionRequest } from '../../src/sessions/office-sessions.js';
import type { Session } from '../../src/sessions/session.schema.js';
import { SessionsRepository } from '../../src/sessions/sessions.repository.js';
import { SessionsService } from '../../src/sessions/sessions.service.js';
import type { TaskInput } from '../../src/tasks/task-records.js';
import { aTask, aWorkspace } from '../../src/testing.js';
import { pick } from './pick.js';
import type { TestReveille } from './reveille.js';
import { aSession } from './rows.js';

/** The agent and the profile of every session in a test that names no other. */
export const AGENT = 'agent';
export const PROFILE = 'profile';

/** A row as the database has it, column by column. */
type StoredRow = Readonly<Record<string, unknown>>;

/** An event that tells of a session. */
export interface ToldEvent {
  readonly type: string;
  readonly sessionId: string | undefined;
  readonly data: Readonly<Record<string, string>>;
}

/** A task of a test's own: what is asked for about its sessions, and what has become of them. */
export class Conversation {
  private constructor(
    private readonly reveille: TestReveille,
    readonly workspaceId: string,
    readonly taskId: string,
  ) {}

  static async open(reveille: TestReveille, task: Partial<TaskInput> = {}): Promise<Conversation> {
    const { id } = await aWorkspace(reveille.app);
    return new Conversation(reveille, id, (await aTask(reveille.app, id, task)).id);
  }

  /** About a task that is there already. */
  static about(reveille: TestReveille, task: { readonly workspaceId: string; readonly taskId: string }) {
    return new Conversation(reveille, task.workspaceId, task.taskId);
  }

  /** The pair that everything is about unless a test says otherwise. */
  get pair() {
    return { taskId: this.taskId, agentProfileId: AGENT };
  }

  get service(): SessionsService {
    return this.reveille.get(SessionsService);
  }

  ensure(request: Partial<SessionRequest> = {}): Promise<EnsuredSession> {
    return this.service.ensure({ ...this.pair, executionProfileId: PROFILE, ...request });
  }

  /** Creates through the guard alone, without any look-up or recovery. */
  create(wanted: Partial<WantedSession> = {}): Promise<Session> {
    const complete = { ...this.pair, executionProfileId: PROFILE, executorId: null, ...wanted };
    return this.reveille.get(OfficeSessionCreator).create(complete);
  }

  launch(request: Partial<Parameters<SessionsService['launch']>[0]> = {}): Promise<Session> {
    return this.service.launch({ ...this.pair, executionProfileId: PROFILE, ...request });
  }

  find(): Promise<Session | null> {
    return this.service.find(this.pair);
  }

  /** Stores rows as data gets there that nothing has guarded, not even the list of states. */
  write(...rows: readonly Partial<Session>[]): Promise<void> {
    const { pair, workspaceId } = this;
    return this.reveille.get(Transactions).run(async () => {
      for (const row of rows) {
        const id = `${this.taskId}-${row.id ?? 'row'}`;
        await this.reveille.get(SessionsRepository).insert(aSession({ ...pair, workspaceId, ...row, id }));
      }
    });
  }

  /** The id under which {@link write} has stored a row. */
  idOf(name = 'row'): string {
    return `${this.taskId}-${name}`;
  }

  /** Changes columns of a written row behind everybody's back. */
  async alter(name: string, columns: Readonly<Record<string, string | number>>): Promise<void> {
    // SQLite numbers parameters by where they come first, so the id is numbered last.
    const names = Object.keys(columns);
    const sets = names.map((column, place) => `${column} = $${place + 1}`);
    await this.sql(`UPDATE task_sessions SET ${sets.join(', ')} WHERE id = $${names.length + 1}`, [
      ...Object.values(columns),
      this.idOf(name),
    ]);
  }

  /** Every row of the task, to be compared to the last byte. */
  rows(): Promise<readonly StoredRow[]> {
    return this.sql<StoredRow[]>('SELECT * FROM task_sessions WHERE task_id = $1 ORDER BY id', [this.taskId]);
  }

  /** The one row that the task has, or the one that {@link write} has stored under the name. */
  async row(name?: string): Promise<StoredRow> {
    const rows = await this.rows();
    if (name === undefined) expect(rows).toHaveLength(1);
    return pick(rows.filter(({ id }) => name === undefined || id === this.idOf(name)));
  }

  /** The names of all rows in the given state. */
  async namesIn(state: string): Promise<readonly string[]> {
    const rows = (await this.rows()).filter((row) => row['state'] === state);
    return rows.map(({ id }) => String(id).slice(this.taskId.length + 1)).sort();
  }

  /** What the durable log tells of the task's sessions, oldest first. */
  async events(type?: string): Promise<readonly ToldEvent[]> {
    const stored = await this.sql<{ type: string; subject: string; data: string }[]>(
      `SELECT type, subject, data FROM events WHERE workspace_id = $1 AND type LIKE 'session.%' ORDER BY at, id`,
      [this.workspaceId],
    );
    const told = stored.map((event) => ({
      type: event.type,
      sessionId: (JSON.parse(event.subject) as { sessionId?: string }).sessionId,
      data: JSON.parse(event.data) as Record<string, string>,
    }));
    return told.filter((event) => type === undefined || event.type === type);
  }

  sql<T>(statement: string, parameters: readonly unknown[] = []): Promise<T> {
    const transactions = this.reveille.get(Transactions);
    return transactions.run(() => transactions.writing().query<T>(statement, [...parameters]));
  }

  /** Takes a table away from everybody, so that whoever needs it gets the driver's own error, and answers its return. */
  async without(table: string): Promise<() => Promise<void>> {
    await this.sql(`ALTER TABLE ${table} RENAME TO ${table}_elsewhere`);
    return async () => {
      await this.sql(`ALTER TABLE ${table}_elsewhere RENAME TO ${table}`);
    };
  }
}
