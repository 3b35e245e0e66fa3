import { Transactions } from '../../src/database/transactions.js';
import { EventLog } from '../../src/events/event-log.js';
import { EventRepository } from '../../src/events/event.repository.js';
import type { StoredEvent } from '../../src/events/event.schema.js';
import { onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

const ALL = 10_000;

onEachDatabase('events', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const transactions = () => reveille().get(Transactions);

  /** Tells an event in the open transaction. */
  const append = (workspaceId: string, taskId: string, from = reveille()) =>
    from.get(EventLog).append({ type: 'task.created', workspaceId, subject: { taskId } });
  const tell = (workspaceId: string, taskId: string, from = reveille()) =>
    from.get(Transactions).run(() => append(workspaceId, taskId, from));
  const read = (workspaceId: string, after = 0, limit = ALL) =>
    reveille().get(EventLog).after(workspaceId, after, limit);

  /** An event whose transaction stays open until it is told to commit. */
  const heldOpen = async (workspaceId: string, taskId: string) => {
    const isWritten = new Gate();
    const mayCommit = new Gate();
    const done = transactions().run(async () => {
      await append(workspaceId, taskId);
      isWritten.open();
      await mayCommit.passed;
    });
    await Promise.race([isWritten.passed, done]);
    const commit = () => {
      mayCommit.open();
      return done;
    };
    return { commit };
  };

  if (database === 'postgres') {
    it('that commit late are still seen by a reader who resumes after one that was told later', async () => {
      const late = await heldOpen('late', 'told first');
      await tell('late', 'told second');
      const seen = await read('late');
      expect(tasksOf(seen)).toEqual(['told second']);
      await late.commit();
      expect(tasksOf(await read('late', lastOf(seen)))).toEqual(['told first']);
    });

    it('are all seen that were committed before the reader asked, though a numbering under way has looked earlier', async () => {
      await asOutsider(reveille(), async (outsider) => {
        await outsider.query(`
          INSERT INTO events (id, number, workspace_id, type, at, subject, data)
          VALUES ('in the way', NULL, 'asked', 'task.created', 0, '{"taskId":"first"}', '{}')`);
        await outsider.query('BEGIN');
        await outsider.query(`SELECT 1 FROM events WHERE id = 'in the way' FOR UPDATE`);
        const early = read('asked');
        await until('the numbering has looked and waits for that event', async () => {
          const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid`;
          return (await outsider.query(waiting)).length > 0 ? true : undefined;
        });
        await tell('asked', 'second');
        const seen = read('asked');
        await outsider.query('COMMIT');
        expect(tasksOf(await seen)).toEqual(['first', 'second']);
        await early;
      });
    });
  } else {
    // The one writer ends a transaction before it begins the next: none can commit before one that wrote earlier.
    it('are seen in the order in which they were told, because a later one waits for the commit before it', async () => {
      const early = await heldOpen('in-turn', 'told first');
      const later = tell('in-turn', 'told second');
      await asOutsider(reveille(), async (outsider) => {
        expect(await outsider.query('SELECT 1 FROM events')).toEqual([]);
      });
      await early.commit();
      await later;
      const seen = await read('in-turn');
      expect(tasksOf(seen)).toEqual(['told first', 'told second']);
      expect(await read('in-turn', lastOf(seen))).toEqual([]);
    });
  }

  it('are numbered one after the other across all workspaces, without a gap for what rolled back', async () => {
    const before = await reveille().get(EventLog).latest();
    await tell('one', 'a');
    await tell('other', 'b');
    const rolledBack = transactions().run(async () => {
      await append('one', 'never told');
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    await transactions().run(async () => {
      await append('one', 'c');
      await append('one', 'd');
    });
    const [one, other] = [await read('one'), await read('other')];
    const numbers = [...one, ...other].map(({ number }) => (number ?? 0) - before);
    expect(numbers.sort()).toEqual([1, 2, 3, 4]);
    expect(tasksOf(one)).toEqual(['a', 'c', 'd']);
    expect(tasksOf(other)).toEqual(['b']);
    expect(await reveille().get(EventLog).latest()).toBe(before + 4);
  });

  it('are shown to nobody until they have their number', async () => {
    await asOutsider(reveille(), (outsider) =>
      outsider.query(`
        INSERT INTO events (id, number, workspace_id, type, at, subject, data)
        VALUES ('unnumbered', NULL, 'unseen', 'task.created', 0, '{"taskId":"a"}', '{}')`),
    );
    expect(await reveille().get(EventRepository).numberedAfter('unseen', 0, ALL)).toEqual([]);
    const [event] = await read('unseen');
    expect(event?.id).toBe('unnumbered');
    expect(event?.number).toBeGreaterThan(0);
    expect(await reveille().get(EventRepository).numberedAfter('unseen', 0, ALL)).toEqual([event]);
  });

  it('are all numbered at once when more of them wait than one statement numbers', async () => {
    const before = await reveille().get(EventLog).latest();
    await asOutsider(reveille(), (outsider) =>
      outsider.query(`
        WITH RECURSIVE places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < 1100)
        INSERT INTO events (id, number, workspace_id, type, at, subject, data)
        SELECT 'many-' || place, NULL, 'many', 'task.created', place, '{}', '{}' FROM places`),
    );
    const seen = await read('many');
    expect(seen.map(({ at }) => at)).toEqual(Array.from({ length: 1100 }, (_, index) => index + 1));
    expect(seen.map(({ number }) => number)).toEqual(seen.map(({ at }) => before + at));
  });

  describe('of 20 concurrent writers', () => {
    // A second server on the same database; SQLite's file has room for one.
    const neighbour =
      database === 'postgres'
        ? useReveille(() => TestReveille.start('postgres', { databaseUrl: postgresUrl(reveille()) }))
        : reveille;

    it('are each seen once by a reader who resumes page by page while they are written', async () => {
      const isReading = new Gate();
      const write = async (writer: number, told: Set<string>) => {
        for (let place = 0; place < 10; place++) {
          // None is through before the reader has begun.
          if (place === 5) await isReading.passed;
          const name = `${writer}-${place}`;
          await tell('busy', name, writer % 2 === 0 ? reveille() : neighbour());
          told.add(name);
        }
      };
      const told = new Set<string>();
      const writers = Array.from({ length: 20 }, (_, writer) => write(writer, told));

      const seen: StoredEvent[] = [];
      let mayCome = true;
      while (mayCome) {
        const wereTold = told.size;
        const page = await read('busy', lastOf(seen), 7);
        seen.push(...page);
        if (page.length > 0) isReading.open();
        mayCome = page.length > 0 || wereTold < 200;
      }
      await Promise.all(writers);
      expect(tasksOf(seen).sort()).toEqual([...told].sort());
      expect(seen.map(({ number }) => number)).toEqual(
        Array.from({ length: 200 }, (_, place) => (seen[0]?.number ?? 0) + place),
      );
      expect(await read('busy', lastOf(seen))).toEqual([]);
    });
  });

  it('are refused to a reader inside a unit of work, who could wait for itself', async () => {
    await tell('inside', 'first');
    await expect(transactions().run(() => read('inside'))).rejects.toThrow('outside of any unit of work');
    expect(await read('inside')).toHaveLength(1);
  });
});

function tasksOf(events: readonly StoredEvent[]): (string | undefined)[] {
  return events.map(({ subject }) => subject.taskId);
}

/** Where a reader of these events resumes. */
function lastOf(events: readonly StoredEvent[]): number {
  return events.at(-1)?.number ?? 0;
}
