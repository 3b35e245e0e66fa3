import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventLog } from '../../src/events/event-log.js';
import type { DatabaseName } from '../support/databases.js';
import { onPostgres, postgresUrl } from '../support/outsider.js';
import { TestReveille } from '../support/reveille.js';
import { until } from '../support/until.js';
import type { Scene } from './killed-mutations.js';
import { type Stored, storedIn } from './killed-stored.js';

/** Some instant in the life of every office. */
export const NOW = Date.UTC(2026, 0, 1);

/** An office as it is before something is done to it, in a database that one more process may open. */
export interface Stage {
  readonly scene: Scene;
  readonly before: Stored;
  readonly databaseUrl: string;
  /** Lends a server on the database to `work`, once the process that had it is gone. */
  onceLeft(work: (reveille: TestReveille) => Promise<void>): Promise<void>;
}

/** Where each death finds an office that nothing has been done to yet. */
export interface Stages {
  next(): Promise<Stage>;
  close(): Promise<void>;
}

type SetUp = (reveille: TestReveille) => Promise<Scene>;

export function stagesOn(database: DatabaseName, setUp: SetUp): Promise<Stages> {
  return database === 'sqlite' ? onFiles(setUp) : onOneServer(setUp);
}

/** On PostgreSQL several processes serve one database, and every stage is a workspace of its own. */
async function onOneServer(setUp: SetUp): Promise<Stages> {
  const reveille = await TestReveille.start('postgres');
  const next = async () => {
    const name = `mortal-${randomUUID()}`;
    const databaseUrl = new URL(postgresUrl(reveille));
    databaseUrl.searchParams.set('application_name', name);
    return {
      ...(await prepared(reveille, setUp)),
      databaseUrl: databaseUrl.href,
      onceLeft: async (work: (server: TestReveille) => Promise<void>) => {
        await leftBy(name, postgresUrl(reveille));
        await work(reveille);
      },
    };
  };
  return { next, close: () => reveille.stop() };
}

/** The server ends what a client was at only when it notices that the client is gone. */
function leftBy(name: string, databaseUrl: string): Promise<true> {
  return onPostgres(databaseUrl, (outsider) =>
    until(`${name} has left the database`, async () => {
      const sessions = 'SELECT 1 FROM pg_stat_activity WHERE application_name = $1';
      return (await outsider.query(sessions, [name])).length === 0 ? true : undefined;
    }),
  );
}

/** An SQLite file has one server: every stage is a copy of one that was prepared, with the log that belongs to it. */
async function onFiles(setUp: SetUp): Promise<Stages> {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-killed-'));
  const original = join(directory, 'original');
  const preparing = await serving(original);
  const office = await prepared(preparing, setUp);
  await preparing.stop();
  const next = async () => {
    const home = join(directory, randomUUID());
    await cp(original, home, { recursive: true });
    const onceLeft = async (work: (server: TestReveille) => Promise<void>) => {
      const reveille = await serving(home);
      await work(reveille).finally(() => reveille.stop());
    };
    return { ...office, databaseUrl: urlIn(home), onceLeft };
  };
  return { next, close: () => rm(directory, { recursive: true, force: true }) };
}

function serving(home: string): Promise<TestReveille> {
  return TestReveille.start('sqlite', { databaseUrl: urlIn(home) });
}

function urlIn(home: string): string {
  return `sqlite:${join(home, 'office.db')}`;
}

/** What was there before is a second old, so that nothing of it is mistaken for what comes. */
async function prepared(reveille: TestReveille, setUp: SetUp): Promise<Pick<Stage, 'scene' | 'before'>> {
  reveille.clock.set(NOW - 1_000);
  const scene = await setUp(reveille);
  await reveille.get(EventLog).latest();
  return { scene, before: await storedIn(reveille, scene.workspaceId) };
}
