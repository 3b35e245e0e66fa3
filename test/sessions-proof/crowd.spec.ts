import type { CrowdCall } from '../support/crowd-process.js';
import { onEachDatabase } from '../support/databases.js';
import { pick } from '../support/pick.js';
import { type CrowdOutcome, type CrowdSize, type StoredSession, runCrowd } from './crowd.js';
import { type KnownPair, type PairKind, oldId } from './crowded-pairs.js';

/** `REVEILLE_CROWD=full` asks for the crowd of the deep run. An SQLite file has one process. */
const SIZE =
  process.env['REVEILLE_CROWD'] === 'full'
    ? { callers: 200, pairs: 500, processes: 4, atOnce: 2 }
    : { callers: 16, pairs: 40, processes: 2, atOnce: 10 };

/** Generous: the deep run takes as long as it takes. */
const PATIENCE_MS = 3 * 60 * 60_000;

onEachDatabase('a crowd of callers for each of many pairs', (database) => {
  const size: CrowdSize = database === 'sqlite' ? { ...SIZE, processes: 1 } : SIZE;
  let outcome: CrowdOutcome;
  beforeAll(async () => {
    outcome = await runCrowd(database, size);
  }, PATIENCE_MS);

  const pairsOf = (...kinds: readonly PairKind[]) => outcome.pairs.filter(({ kind }) => kinds.includes(kind));
  const callsOf = ({ taskId, agentProfileId }: KnownPair) =>
    outcome.calls.filter((call) => call.taskId === taskId && call.agentProfileId === agentProfileId);
  const rowsOf = ({ taskId, agentProfileId }: KnownPair) =>
    outcome.rows.filter((row) => row.task_id === taskId && row.agent_profile_id === agentProfileId);
  /** What has become of a pair, counted. */
  const summed = (pair: KnownPair) => {
    const calls = callsOf(pair);
    const rows = rowsOf(pair);
    return {
      answers: calls.filter(({ id }) => id !== null).length,
      ids: new Set(calls.map(({ id }) => id)).size,
      created: calls.filter(({ created }) => created).length,
      errors: calls.flatMap(({ error }) => error ?? []),
      made: rows.filter(({ executor_id: by }) => by !== null).length,
      live: rows.filter(isLive).length,
    };
  };
  const served = { answers: SIZE.callers, errors: [] };

  it('AC-OFFICE-SESSION-IDENTITY-001.3 AC-OFFICE-SESSION-IDENTITY-003.1 all get the one row that one of them has made', () => {
    for (const pair of pairsOf('new', 'history'))
      expect(summed(pair)).toEqual({ ...served, ids: 1, created: 1, made: 1, live: 1 });
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.2 have come to it by a refusal, if they tried to create at all', () => {
    const tried = pairsOf('new', 'history').flatMap((pair) =>
      callsOf(pair).filter(({ attempts }) => attempts > 0),
    );
    const odd = tried.filter(
      ({ attempts, refusals, created }) => attempts !== 1 || refusals !== (created ? 0 : 1),
    );
    expect(odd).toEqual([]);
    expect(tried.filter(({ refusals }) => refusals > 0).length).toBeGreaterThan(SIZE.pairs);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.9 AC-OFFICE-SESSION-IDENTITY-003.1 all get the session between turns, which goes back to work once', () => {
    for (const pair of pairsOf('idle')) {
      const id = oldId(pair, 'IDLE');
      expect(summed(pair)).toEqual({ ...served, ids: 1, created: 0, made: 0, live: 1 });
      expect(pick(callsOf(pair)).id).toBe(id);
      expect(rowsOf(pair)).toContainEqual(expect.objectContaining({ id, state: 'RUNNING' }));
      expect(eventsOf(outcome, id)).toEqual(['session.state_changed']);
    }
  });

  it('AC-OFFICE-SESSION-IDENTITY-002.1 AC-OFFICE-SESSION-IDENTITY-003.6 all get the preferred one of older duplicates, of which none is changed', () => {
    for (const pair of pairsOf('legacy')) {
      expect(summed(pair)).toEqual({ ...served, ids: 1, created: 0, made: 0, live: 3 });
      expect(pick(callsOf(pair)).id).toBe(oldId(pair, 'WAITING_FOR_INPUT'));
      expect(rowsOf(pair).map(({ id, state, updated_at: at }) => [id, state, Number(at)])).toEqual(
        expect.arrayContaining([
          [oldId(pair, 'COMPLETED'), 'COMPLETED', 4],
          [oldId(pair, 'RUNNING'), 'RUNNING', 2],
          [oldId(pair, 'WAITING_FOR_INPUT'), 'WAITING_FOR_INPUT', 3],
          [oldId(pair, 'CREATED'), 'CREATED', 1],
        ]),
      );
    }
  });

  // A second refusal finds the session that somebody has made since, and nobody ends that one.
  it('AC-OFFICE-SESSION-IDENTITY-003.3 all get a session when the first one ends in the middle, some at their second attempt', () => {
    for (const pair of pairsOf('ends once')) {
      const { ids, made, ...rest } = summed(pair);
      const ended = endedOf(outcome, rowsOf(pair)).length;
      expect(rest).toEqual({ ...served, created: made, live: 1 });
      expect({ ids, made }).toEqual({ ids: 1 + ended, made: 1 + ended });
    }
    const calls = pairsOf('ends once').flatMap(callsOf);
    expect(calls.filter(({ attempts }) => attempts === 2).length).toBeGreaterThan(0);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.3 AC-OFFICE-SESSION-IDENTITY-003.7 get a session or, after two refusals, the conflict when it ends again and again', () => {
    for (const pair of pairsOf('ends often')) {
      const { made, created, live } = summed(pair);
      const ended = endedOf(outcome, rowsOf(pair)).length;
      expect({ made, live }).toEqual({ made: created, live: created - ended });
      // The last caller came alone, and found or made the one that has stayed.
      expect(live).toBe(1);
      for (const { error, attempts, refusals } of callsOf(pair).filter(({ id }) => id === null)) {
        expect(error).toMatch(/^OfficeSessionRaceConflict: /);
        expect({ attempts, refusals }).toEqual({ attempts: 2, refusals: 2 });
      }
    }
    expect(outcome.endings.length).toBeGreaterThan(pairsOf('ends often').length);
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.4 never get nothing, never a row that had ended before they asked, and try twice at most', () => {
    const ended = new Map(outcome.endings.map((ending) => [ending.id, ending.ended]));
    const isLate = ({ id, began }: CrowdCall) => id !== null && began > (ended.get(id) ?? Infinity);
    expect(outcome.calls.filter(({ id, error }) => (id === null) === (error === null))).toEqual([]);
    expect(outcome.calls.filter(isLate)).toEqual([]);
    expect(outcome.calls.filter(({ attempts }) => attempts > 2)).toEqual([]);
  });

  it('AC-OFFICE-SESSION-IDENTITY-001.2 have no two of the sessions that they made live at the same time', () => {
    for (const pair of outcome.pairs) {
      const lives = livesOf(outcome, callsOf(pair));
      for (const [place, { till }] of lives.entries())
        expect(lives[place + 1]?.from ?? Infinity).toBeGreaterThanOrEqual(till);
    }
  });

  it('AC-OFFICE-SESSION-IDENTITY-003.5 hear of each row once, made by the very caller that was told so', () => {
    const makers = new Map(
      outcome.calls.flatMap(({ id, created, caller }) => (created ? [[id, caller]] : [])),
    );
    const made = outcome.rows.filter(({ executor_id: by }) => by !== null);
    expect(made.filter(({ id, executor_id: by }) => makers.get(id) !== by)).toEqual([]);
    const told = outcome.events.filter(({ type }) => type === 'session.created');
    expect(told.map(({ sessionId }) => sessionId).sort()).toEqual(made.map(({ id }) => id).sort());
  });

  it('are counted by what they got', () => {
    const created = outcome.calls.filter((call) => call.created).length;
    const conflict = outcome.calls.filter(({ id }) => id === null).length;
    expect(outcome.results).toEqual({
      'result="created"': created,
      'result="reused"': outcome.calls.length - created - conflict,
      'result="conflict"': conflict,
    });
    expect(created).toBe(outcome.rows.filter(({ executor_id: by }) => by !== null).length);
  });
});

function isLive({ state }: StoredSession): boolean {
  return !['COMPLETED', 'FAILED', 'CANCELLED'].includes(state);
}

/** Those of the rows that have been ended in the middle. */
function endedOf({ endings }: CrowdOutcome, rows: readonly StoredSession[]): readonly StoredSession[] {
  return rows.filter(({ id }) => endings.some((ending) => ending.id === id));
}

/** When each session that the callers made was live for certain, in order: from the answer to its end's beginning. */
function livesOf({ endings }: CrowdOutcome, calls: readonly CrowdCall[]) {
  const began = new Map(endings.map((ending) => [ending.id, ending.began]));
  return calls
    .flatMap(({ id, created, answered }) =>
      id !== null && created ? [{ from: answered, till: began.get(id) ?? Infinity }] : [],
    )
    .sort((one, other) => one.till - other.till);
}

function eventsOf({ events }: CrowdOutcome, id: string): readonly string[] {
  return events.flatMap(({ type, sessionId }) => (sessionId === id ? [type] : []));
}
