/**
 * Sessions as the requirements tell them, in arrays: no database, no locks, and nothing of the code it is the measure of.
 * Where it and Reveille differ, one of them has misread the rules.
 */

export interface ModelRow {
  /** What the world calls it: told to the model once the world has made it, and a legacy row's own from the start. */
  id: string;
  readonly task: number;
  readonly agent: number | null;
  profile: string;
  readonly executor: string | null;
  state: string;
  metadata: Readonly<Record<string, unknown>>;
  readonly startedAt: number;
  updatedAt: number;
  completedAt: number | null;
}

export interface ModelTask {
  readonly kind: 'office' | 'kanban';
  assignee: number | null;
  /** Held roles, as `agent role`. */
  readonly seats: Set<string>;
}

export interface ModelEvent {
  readonly type: 'session.created' | 'session.state_changed';
  readonly row: ModelRow;
  readonly data: Readonly<Record<string, string>>;
}

/** What a caller of `ensure` asks for. */
export interface ModelRequest {
  readonly task: number;
  readonly agent: number;
  readonly profile: string;
  readonly executor: string | null;
}

/** What a caller gets: a session, or the code of an error. */
export type Expected = { readonly row: ModelRow; readonly created: boolean } | { readonly error: string };

/** Everything but the end, which every live session may come to. */
const ONWARD: Readonly<Record<string, readonly string[]>> = {
  CREATED: ['STARTING', 'RUNNING'],
  STARTING: ['RUNNING'],
  RUNNING: ['IDLE', 'WAITING_FOR_INPUT'],
  IDLE: ['RUNNING'],
  WAITING_FOR_INPUT: ['RUNNING'],
};

/** The keys that a change of the execution profile clears. */
export const PROVIDER_KEYS = [
  'acp_session_id',
  'session_mode',
  'runtime_config',
  'runtime_config_overrides',
  'acp_config_baseline',
  'acp_model_state',
  'context_window',
  'last_agent_error',
];

export class SessionsModel {
  readonly rows: ModelRow[] = [];
  readonly events: ModelEvent[] = [];
  readonly results = new Map<string, number>();
  readonly tasks: readonly ModelTask[];
  private readonly deleted = new Set<number>();

  constructor(kinds: readonly ModelTask['kind'][]) {
    this.tasks = kinds.map((kind) => ({ kind, assignee: null, seats: new Set<string>() }));
  }

  ensure(request: ModelRequest, now: number): Expected {
    const { task, agent, profile, executor } = request;
    const found = this.preferred(task, agent);
    if (found === null || isOver(found)) {
      if (this.deleted.has(agent)) return { error: 'not_found' };
      this.count('created');
      return { row: this.make({ task, agent, profile, executor }, now), created: true };
    }
    if (found.profile !== profile) {
      found.profile = profile;
      const kept = Object.entries(found.metadata).filter(([key]) => !PROVIDER_KEYS.includes(key));
      found.metadata = Object.fromEntries(kept);
      found.updatedAt = now;
    }
    if (found.state === 'IDLE') this.move(found, 'RUNNING', now);
    this.count('reused');
    return { row: found, created: false };
  }

  /** No rule but that of a task's first session: what is live beside it does not matter. */
  launch(wanted: Pick<ModelRow, 'task' | 'agent' | 'profile' | 'executor'>, now: number): Expected {
    if (wanted.agent !== null && this.deleted.has(wanted.agent)) return { error: 'not_found' };
    return { row: this.make(wanted, now), created: true };
  }

  replace(row: ModelRow, now: number): Expected {
    const { task, agent, profile, executor } = row;
    return isOver(row)
      ? { error: 'illegal_transition' }
      : this.launch({ task, agent, profile, executor }, now);
  }

  spawn(spawner: ModelRow, named: number | null, now: number): Expected {
    if (isOver(spawner)) return { error: 'illegal_transition' };
    const shared = this.sharedBy(spawner.task, named);
    if (shared !== null) return this.converge(spawner, shared, now);
    const { task, executor } = spawner;
    const agent = named ?? spawner.agent;
    const profile = this.profileFor(agent, spawner);
    return profile === null ? { error: 'not_found' } : this.launch({ task, agent, profile, executor }, now);
  }

  /** The one conversation there is to go to keeps its profile. */
  private converge({ task, executor, ...spawner }: ModelRow, agent: number, now: number): Expected {
    const found = this.preferred(task, agent);
    const isThere = found !== null && !isOver(found);
    const profile = isThere ? found.profile : this.profileFor(agent, spawner);
    return profile === null ? { error: 'not_found' } : this.ensure({ task, agent, profile, executor }, now);
  }

  /** Null for another agent that is gone. */
  private profileFor(agent: number | null, spawner: Pick<ModelRow, 'agent' | 'profile'>): string | null {
    if (agent === null || agent === spawner.agent) return spawner.profile;
    return this.deleted.has(agent) ? null : profileOf(agent);
  }

  /** Answers the code of the error, if it is one. */
  flip(row: ModelRow, state: string, now: number): string | null {
    const isAllowed = !isOver(row) && (isOver({ state }) || (ONWARD[row.state] ?? []).includes(state));
    if (!isAllowed) return 'illegal_transition';
    this.move(row, state, now);
    return null;
  }

  /** Whether there is a turn to begin. */
  beginTurn(row: ModelRow, now: number): boolean {
    if (isOver(row)) return false;
    if (row.state !== 'RUNNING') this.move(row, 'RUNNING', now);
    return true;
  }

  endTurn(row: ModelRow, acpSessionId: string | undefined, now: number): void {
    if (isOver(row)) return;
    if (acpSessionId !== undefined) row.metadata = { ...row.metadata, acp_session_id: acpSessionId };
    this.move(row, this.task(row.task).kind === 'kanban' ? 'WAITING_FOR_INPUT' : 'IDLE', now);
  }

  retire(task: number | null, agent: number, now: number): void {
    for (const row of this.rows) {
      if ((task === null || row.task === task) && row.agent === agent && !isOver(row))
        this.move(row, 'COMPLETED', now);
    }
  }

  /** Answers the live session of whoever had the task, as it is before it ends; or the code of the error. */
  assign(task: number, agent: number | null, now: number): { interrupted: ModelRow | null } | string {
    if (agent !== null && this.deleted.has(agent)) return 'not_found';
    const of = this.task(task);
    const previous = of.assignee;
    of.assignee = agent;
    if (previous === null || previous === agent) return { interrupted: null };
    const found = this.preferred(task, previous);
    const interrupted = found === null || isOver(found) ? null : found;
    this.retireUnlessSeated(task, previous, now);
    return { interrupted };
  }

  addSeat(task: number, agent: number, role: string): string | null {
    if (this.deleted.has(agent)) return 'not_found';
    this.task(task).seats.add(`${agent} ${role}`);
    return null;
  }

  removeSeat(task: number, agent: number, role: string | null, now: number): void {
    const { seats } = this.task(task);
    const wasSeated = this.isSeated(task, agent);
    for (const seat of seats) {
      if (seat === `${agent} ${role ?? ''}` || (role === null && seat.startsWith(`${agent} `)))
        seats.delete(seat);
    }
    if (wasSeated) this.retireUnlessSeated(task, agent, now);
  }

  /** Answers the code of the error, if it is one. */
  deleteAgent(agent: number, now: number): string | null {
    if (this.deleted.has(agent)) return 'not_found';
    this.deleted.add(agent);
    for (const task of this.tasks) {
      if (task.assignee === agent) task.assignee = null;
      for (const seat of task.seats) if (seat.startsWith(`${agent} `)) task.seats.delete(seat);
    }
    this.retire(null, agent, now);
    return null;
  }

  /** Live before over, then the newest, then the greatest id. */
  preferred(task: number, agent: number): ModelRow | null {
    const [first] = this.rows
      .filter((row) => row.task === task && row.agent === agent)
      .sort(
        (one, other) =>
          Number(isOver(one)) - Number(isOver(other)) ||
          other.startedAt - one.startedAt ||
          (one.id < other.id ? 1 : -1),
      );
    return first ?? null;
  }

  /** The agent whose one conversation an office has about the task, where it is asked for or nobody is. */
  private sharedBy(task: number, named: number | null): number | null {
    const { kind, assignee } = this.task(task);
    return kind === 'office' && (named === null || named === assignee) ? assignee : null;
  }

  private retireUnlessSeated(task: number, agent: number, now: number): void {
    if (!this.isSeated(task, agent)) this.retire(task, agent, now);
  }

  private isSeated(task: number, agent: number): boolean {
    const { assignee, seats } = this.task(task);
    return assignee === agent || ['reviewer', 'approver'].some((role) => seats.has(`${agent} ${role}`));
  }

  private make(wanted: Pick<ModelRow, 'task' | 'agent' | 'profile' | 'executor'>, now: number): ModelRow {
    const isFirst = !this.rows.some(({ task }) => task === wanted.task);
    const row: ModelRow = {
      id: '',
      ...wanted,
      state: 'CREATED',
      metadata: isFirst ? { origin: 'task_initial' } : {},
      startedAt: now,
      updatedAt: now,
      completedAt: null,
    };
    this.rows.push(row);
    this.events.push({ type: 'session.created', row, data: {} });
    return row;
  }

  private move(row: ModelRow, state: string, now: number): void {
    this.events.push({ type: 'session.state_changed', row, data: { from: row.state, to: state } });
    row.state = state;
    row.updatedAt = now;
    if (isOver(row)) row.completedAt = now;
  }

  private task(number: number): ModelTask {
    const task = this.tasks[number];
    if (task === undefined) throw new Error(`There is no task ${number}.`);
    return task;
  }

  private count(result: string): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }
}

/** The profile that an agent of the model is launched with. */
export function profileOf(agent: number): string {
  return `own-${agent}`;
}

function isOver({ state }: { readonly state: string }): boolean {
  return state === 'COMPLETED' || state === 'FAILED' || state === 'CANCELLED';
}
