import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TableBuilder, nullable, primary } from './table-builder.js';

/** What makes a change to a run a change to its agent's queue. A heartbeat is none. */
const CHANGES_THE_QUEUE = `
  OLD.status <> NEW.status OR OLD.requested_at <> NEW.requested_at
  OR OLD.agent_profile_id <> NEW.agent_profile_id
  OR coalesce(OLD.scheduled_retry_at, -1) <> coalesce(NEW.scheduled_retry_at, -1)
  OR (OLD.claim_token_hash IS NULL) <> (NEW.claim_token_hash IS NULL)`;

/** The function looks for our tables where they are now, whatever the session of whoever changes a run looks at. */
const POSTGRES_TRIGGERS = [
  `CREATE FUNCTION runs_note_added() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
   BEGIN
     INSERT INTO queue_changes (agent_profile_id)
       SELECT DISTINCT agent_profile_id FROM changed WHERE status IN ('queued', 'claimed') OR claim_token_hash IS NOT NULL;
     RETURN NULL;
   END $$`,
  `CREATE FUNCTION runs_note_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
   BEGIN
     INSERT INTO queue_changes (agent_profile_id) VALUES (NEW.agent_profile_id);
     IF OLD.agent_profile_id <> NEW.agent_profile_id THEN
       INSERT INTO queue_changes (agent_profile_id) VALUES (OLD.agent_profile_id);
     END IF;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER runs_added AFTER INSERT ON runs REFERENCING NEW TABLE AS changed
   FOR EACH STATEMENT EXECUTE FUNCTION runs_note_added()`,
  `CREATE TRIGGER runs_removed AFTER DELETE ON runs REFERENCING OLD TABLE AS changed
   FOR EACH STATEMENT EXECUTE FUNCTION runs_note_added()`,
  `CREATE TRIGGER runs_updated AFTER UPDATE ON runs
   FOR EACH ROW WHEN (${CHANGES_THE_QUEUE}) EXECUTE FUNCTION runs_note_updated()`,
];

const SQLITE_TRIGGERS = [
  `CREATE TRIGGER runs_added AFTER INSERT ON runs
   WHEN NEW.status IN ('queued', 'claimed') OR NEW.claim_token_hash IS NOT NULL BEGIN ${noteInSqlite('NEW')} END`,
  `CREATE TRIGGER runs_removed AFTER DELETE ON runs
   WHEN OLD.status IN ('queued', 'claimed') OR OLD.claim_token_hash IS NOT NULL BEGIN ${noteInSqlite('OLD')} END`,
  `CREATE TRIGGER runs_updated AFTER UPDATE ON runs
   WHEN ${CHANGES_THE_QUEUE} BEGIN ${noteInSqlite('NEW')} ${noteInSqlite('OLD')} END`,
];

/** The one writer can see what is noted already, so an agent is noted once. */
function noteInSqlite(row: 'NEW' | 'OLD'): string {
  return `INSERT INTO queue_changes (agent_profile_id) SELECT ${row}.agent_profile_id
    WHERE NOT EXISTS (SELECT 1 FROM queue_changes WHERE agent_profile_id = ${row}.agent_profile_id);`;
}

/**
 * Who waits, kept beside the queue so that a claim costs the same however many runs one agent has waiting.
 *
 * Triggers note whose queue has changed, whoever changes it and by whatever means; claims bring the heads up to date. A
 * note is only ever added by the one who changes a run, so no two of them wait for each other.
 */
export class QueueHeads1790000000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const postgres = runner.connection.options.type === 'postgres';
    const build = new TableBuilder(runner);
    await build.create('queue_heads', [
      build.text('agent_profile_id', primary),
      build.text('workspace_id'),
      build.bigint('head_at', nullable),
      build.bigint('retry_at', nullable),
    ]);
    await createIndexes(runner);
    await runner.query(
      postgres
        ? `CREATE TABLE queue_changes (id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT queue_changes_pk PRIMARY KEY, agent_profile_id text COLLATE "C" NOT NULL)`
        : 'CREATE TABLE queue_changes (agent_profile_id text PRIMARY KEY NOT NULL)',
    );
    for (const statement of postgres ? POSTGRES_TRIGGERS : SQLITE_TRIGGERS) await runner.query(statement);
    await runner.query(
      `INSERT INTO queue_changes (agent_profile_id) SELECT DISTINCT agent_profile_id FROM runs WHERE status = 'queued'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    const postgres = runner.connection.options.type === 'postgres';
    for (const trigger of ['runs_added', 'runs_removed', 'runs_updated'])
      await runner.query(`DROP TRIGGER ${trigger}${postgres ? ' ON runs' : ''}`);
    if (postgres)
      for (const name of ['runs_note_added', 'runs_note_updated'])
        await runner.query(`DROP FUNCTION ${name}()`);
    for (const table of ['queue_changes', 'queue_heads']) await runner.query(`DROP TABLE ${table}`);
    await runner.query('DROP INDEX runs_retries');
  }
}

async function createIndexes(runner: QueryRunner): Promise<void> {
  const statements = [
    'CREATE INDEX queue_heads_next ON queue_heads (head_at, agent_profile_id) WHERE head_at IS NOT NULL',
    'CREATE INDEX queue_heads_workspace ON queue_heads (workspace_id, head_at, agent_profile_id) WHERE head_at IS NOT NULL',
    'CREATE INDEX queue_heads_retry ON queue_heads (retry_at) WHERE retry_at IS NOT NULL',
    `CREATE INDEX runs_retries ON runs (agent_profile_id, scheduled_retry_at) WHERE status = 'queued' AND scheduled_retry_at IS NOT NULL`,
  ];
  for (const statement of statements) await runner.query(statement);
}
