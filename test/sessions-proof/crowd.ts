import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CrowdCall, CrowdProcess, type CrowdReport } from '../support/crowd-process.js';
import { type DatabaseName, type TestDatabase, freshDatabase } from '../support/databases.js';
import { parse } from '../support/metrics.js';
import { type Outsider, onDatabase } from '../support/outsider.js';
import { type KnownPair, crowded, pairsOf, writePairs } from './crowded-pairs.js';

/** A session as it is stored after the crowd. */
export interface StoredSession {
  readonly id: string;
  readonly task_id: string;
  readonly agent_profile_id: string;
  /** The caller that has made it; null for a row from before. */
  readonly executor_id: string | null;
  readonly state: string;
  readonly updated_at: number | string;
}

interface StoredTelling {
  readonly type: string;
  readonly subject: string;
}

/** How many, and in how many processes. */
export interface CrowdSize {
  readonly callers: number;
  readonly pairs: number;
  readonly processes: number;
  /** How many pairs are crowded at once: a server lets nobody wait for a connection longer than 10 s. */
  readonly atOnce: number;
}

/** What a crowd has come to. */
export interface CrowdOutcome {
  readonly pairs: readonly KnownPair[];
  readonly calls: readonly CrowdCall[];
  readonly endings: CrowdReport['endings'];
  readonly rows: readonly StoredSession[];
  readonly events: readonly { readonly type: string; readonly sessionId: string }[];
  /** How often each result of a call was counted, by all processes together. */
  readonly results: Readonly<Record<string, number>>;
}

/** Crowds every pair with all callers, wave by wave, and has each that kept ending asked for once more. */
export async function runCrowd(name: DatabaseName, size: CrowdSize): Promise<CrowdOutcome> {
  const database = name === 'sqlite' ? await sqliteFile() : await freshDatabase(name);
  const processes: CrowdProcess[] = [];
  try {
    for (let number = 0; number < size.processes; number++)
      processes.push(await CrowdProcess.start(`p${number}`, database.url));
    return await onDatabase(database.url, (outsider) => {
      const pairs = pairsOf(size.pairs);
      return outcomeOf({ outsider, pairs, processes, size });
    });
  } finally {
    await Promise.all(processes.map((process) => process.stop()));
    await database.drop();
  }
}

interface Setting {
  readonly outsider: Outsider;
  readonly pairs: readonly KnownPair[];
  readonly processes: readonly CrowdProcess[];
  readonly size: CrowdSize;
}

async function outcomeOf(setting: Setting): Promise<CrowdOutcome> {
  const { outsider, pairs, processes } = setting;
  await writePairs(outsider, pairs);
  const reports = await wavesOf(setting);
  const [first] = processes;
  const often = pairs.filter(({ kind }) => kind === 'ends often');
  const last = await first?.crowd(
    1,
    often.map((pair) => ({ ...crowded(pair, false), ending: 'never' as const })),
  );
  const all = last === undefined ? reports : [...reports, last];
  const events = await outsider.query<StoredTelling>(
    `SELECT type, subject FROM events WHERE type LIKE 'session.%'`,
  );
  return {
    pairs,
    calls: all.flatMap(({ calls }) => calls),
    endings: all.flatMap(({ endings }) => endings),
    rows: await outsider.query('SELECT * FROM task_sessions'),
    events: events.map(({ type, subject }) => ({ type, ...(JSON.parse(subject) as { sessionId: string }) })),
    results: await resultsOf(processes),
  };
}

async function wavesOf({ pairs, processes, size }: Setting): Promise<CrowdReport[]> {
  const reports: CrowdReport[] = [];
  for (let start = 0; start < pairs.length; start += size.atOnce) {
    const wave = pairs.slice(start, start + size.atOnce);
    const answers = processes.map((process, number) =>
      process.crowd(
        size.callers / processes.length,
        wave.map((pair) => crowded(pair, number === pair.round % processes.length)),
      ),
    );
    reports.push(...(await Promise.all(answers)));
  }
  return reports;
}

/** An empty crowd answers with the metrics alone. */
async function resultsOf(processes: readonly CrowdProcess[]): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = {};
  for (const process of processes) {
    const { metrics } = await process.crowd(0, []);
    for (const [labels, value] of parse(metrics, 'office_sessions_total'))
      sums[labels] = (sums[labels] ?? 0) + value;
  }
  return sums;
}

/** A file that can be opened from outside, unlike the private one of `sqlite::memory:`. */
async function sqliteFile(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'reveille-crowd-'));
  return {
    url: `sqlite:${join(folder, 'crowd.db')}`,
    drop: () => rm(folder, { recursive: true, force: true }),
  };
}
