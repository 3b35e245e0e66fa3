import { OfficeSessionRaceConflict, type SessionPair } from '../../src/sessions/session.errors.js';
import type { Session } from '../../src/sessions/session.schema.js';
import { isTerminal } from '../../src/sessions/session-state.js';
import type { SessionStore } from '../../src/sessions/session-store.js';

/** A host's own store that keeps sessions in memory. It answers late, as one across a network does. */
export class MemorySessionStore implements SessionStore {
  protected readonly rows = new Map<string, Session>();

  async findPreferred({ taskId, agentProfileId }: SessionPair): Promise<Session | null> {
    const ofPair = (await this.list(taskId)).filter((row) => row.agentProfileId === agentProfileId);
    return [...ofPair].sort(byPreference)[0] ?? null;
  }

  async list(taskId: string): Promise<readonly Session[]> {
    await late();
    return [...this.rows.values()].filter((row) => row.taskId === taskId);
  }

  async insert(row: Session): Promise<void> {
    await late();
    this.rows.set(row.id, row);
  }

  async update(id: string, expectedState: string, changes: Partial<Session>): Promise<boolean> {
    await late();
    const row = this.rows.get(id);
    if (row?.state !== expectedState) return false;
    this.rows.set(id, { ...row, ...changes });
    return true;
  }
}

/** The same, able to find by id, and to check and insert in one step that nothing comes between. */
export class AtomicSessionStore extends MemorySessionStore {
  async find(id: string): Promise<Session | null> {
    await late();
    return this.rows.get(id) ?? null;
  }

  async createOfficeSession(row: Session): Promise<void> {
    await late();
    const { taskId, agentProfileId } = row;
    const isTaken = [...this.rows.values()].some(
      (other) =>
        other.taskId === taskId && other.agentProfileId === agentProfileId && !isTerminal(other.state),
    );
    if (agentProfileId !== null && isTaken) throw new OfficeSessionRaceConflict({ taskId, agentProfileId });
    this.rows.set(row.id, row);
  }
}

function byPreference(one: Session, other: Session): number {
  return (
    Number(isTerminal(one.state)) - Number(isTerminal(other.state)) ||
    other.startedAt - one.startedAt ||
    (one.id < other.id ? 1 : -1)
  );
}

/** Lets whatever else is under way get on. */
function late(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
