import { DataSource } from 'typeorm';
import { parseDatabaseUrl } from '../../src/config/database-url.js';
import { dataSourceOptions } from '../../src/database/data-source-options.js';
import { migrate } from '../../src/database/migrate.js';
import { Sessions1790000000003 } from '../../src/database/migrations/1790000000003-sessions.js';
import { REVEILLE_SCHEMA } from '../../src/entities.js';
import { Conversation } from '../support/conversation.js';
import { type DatabaseName, emptyPostgres, freshDatabase, onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';

/** What each database's own catalogue holds about the table. */
const CATALOGUE: Record<DatabaseName, Record<'columns' | 'indexes' | 'constraints' | 'triggers', string>> = {
  sqlite: {
    columns: `SELECT name AS what FROM pragma_table_info('task_sessions')`,
    indexes: `
      SELECT CASE "unique" WHEN 1 THEN 'unique ' ELSE '' END || '(' || (
        SELECT group_concat(name, ', ' ORDER BY seqno) FROM pragma_index_info(list.name)) || ')'
        || CASE partial WHEN 1 THEN ' partial' ELSE '' END AS what
      FROM pragma_index_list('task_sessions') AS list`,
    // Whatever else a table can promise stands in the text that made it, behind these words.
    constraints: `
      SELECT word AS what FROM sqlite_master, (
        SELECT 'PRIMARY KEY' AS word UNION SELECT 'UNIQUE' UNION SELECT 'CHECK' UNION SELECT 'REFERENCES'
        UNION SELECT 'GENERATED')
      WHERE name = 'task_sessions' AND instr(upper(sql), word) > 0`,
    triggers: `SELECT name AS what FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'task_sessions'`,
  },
  postgres: {
    columns: `SELECT column_name AS what FROM information_schema.columns WHERE table_name = 'task_sessions'`,
    indexes: `
      SELECT CASE WHEN indisunique THEN 'unique ' ELSE '' END || '(' || (
        SELECT string_agg(attname, ', ' ORDER BY place)
        FROM unnest(indkey) WITH ORDINALITY AS key(number, place), pg_attribute
        WHERE attrelid = indrelid AND attnum = number) || ')'
        || CASE WHEN indpred IS NULL THEN '' ELSE ' partial' END AS what
      FROM pg_index WHERE indrelid = 'task_sessions'::regclass`,
    constraints: `
      SELECT CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE pg_get_constraintdef(oid) END AS what
      FROM pg_constraint WHERE conrelid = 'task_sessions'::regclass AND contype <> 'n'`,
    triggers: `
      SELECT tgname AS what FROM pg_trigger WHERE tgrelid = 'task_sessions'::regclass AND NOT tgisinternal`,
  },
};

/** The table as it was before anybody thought of one session for a pair. */
const BASELINE = [
  'agent_profile_id',
  'completed_at',
  'execution_profile_id',
  'executor_id',
  'id',
  'is_primary',
  'metadata',
  'started_at',
  'state',
  'task_id',
  'updated_at',
  'workspace_id',
];

onEachDatabase('the table of sessions', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Conversation.open(reveille());

  const read = async (what: keyof (typeof CATALOGUE)[DatabaseName]) => {
    const rows = await (await open()).sql<{ what: string }[]>(CATALOGUE[database][what]);
    return rows.map((row) => row.what).sort();
  };

  it('AC-OFFICE-SESSION-IDENTITY-004.5 has the columns of its baseline and the three indexes that are allowed', async () => {
    expect(await read('columns')).toEqual(BASELINE);
    expect(await read('indexes')).toEqual(['(state)', '(task_id)', '(task_id, state)', 'unique (id)']);
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.1 promises nothing but its primary key: no unique index over the pair, no constraint, no trigger', async () => {
    expect(await read('constraints')).toEqual(['PRIMARY KEY']);
    expect(await read('triggers')).toEqual([]);
    const office = await open();
    await office.write({ id: 'one', state: 'RUNNING' }, { id: 'other', state: 'RUNNING' });
    expect(await office.rows()).toHaveLength(2);
  });

  it('AC-OFFICE-SESSION-IDENTITY-004.5 keeps its rows as they are, several live ones of a pair too, through every migration since it was made', async () => {
    const fresh = await (database === 'sqlite' ? freshDatabase(database) : emptyPostgres());
    const dataSource = new DataSource(dataSourceOptions(parseDatabaseUrl(fresh.url), REVEILLE_SCHEMA));
    await dataSource.initialize();
    try {
      await migrate(dataSource);
      const { migrations } = REVEILLE_SCHEMA;
      const since = migrations.length - 1 - migrations.indexOf(Sessions1790000000003);
      expect(since).toBeGreaterThan(0);
      for (let left = since; left > 0; left--) await dataSource.undoLastMigration({ transaction: 'each' });
      for (const [id, state] of Object.entries({ over: 'COMPLETED', one: 'RUNNING', other: 'IDLE' }))
        await dataSource.query(`
          INSERT INTO task_sessions
          VALUES ('${id}', 'task', 'workspace', 'agent', 'profile', NULL, '${state}', '{"kept": true}', false, 1, 2, NULL)`);
      const rows = () => dataSource.query<unknown[]>('SELECT * FROM task_sessions ORDER BY id');
      const before = await rows();
      expect(before).toHaveLength(3);
      await migrate(dataSource);
      expect(await rows()).toEqual(before);
    } finally {
      await dataSource.destroy();
      await fresh.drop();
    }
  });
});
