import { Transactions } from '../../src/database/transactions.js';
import { EventLog } from '../../src/events/event-log.js';
import { EventRepository } from '../../src/events/event.repository.js';
import { onEachDatabase } from '../support/databases.js';
import { asOutsider } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';

const WEEK_MS = 7 * 24 * 60 * 60_000;

onEachDatabase('old events', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const log = () => reveille().get(EventLog);
  const tell = (workspaceId: string) =>
    reveille()
      .get(Transactions)
      .run(() => log().append({ type: 'task.created', workspaceId, subject: {} }));
  const read = (workspaceId: string) => log().after(workspaceId, 0, 10_000);
  const insert = (id: string, number: number | null, at: number, workspaceId = id) =>
    asOutsider(reveille(), (outsider) =>
      outsider.query(
        `INSERT INTO events (id, number, workspace_id, type, at, subject, data)
         VALUES ($1, $2, $3, 'task.created', $4, '{}', '{}')`,
        [id, number, workspaceId, at],
      ),
    );

  it('AC-OFFICE-WORKER-007.4 are forgotten once they are older than a week, and not at the week itself', async () => {
    await tell('edge');
    reveille().clock.advance(WEEK_MS);
    await tell('edge');
    await log().forgetOld();
    expect(await read('edge')).toHaveLength(2);
    reveille().clock.advance(1);
    await log().forgetOld();
    expect(await read('edge')).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-007.4 leave the numbering as it was, though all of them are gone', async () => {
    await tell('all');
    const last = await log().latest();
    reveille().clock.advance(WEEK_MS + 1);
    await log().forgetOld();
    expect(await read('all')).toEqual([]);
    expect(await log().latest()).toBe(last);
    await tell('all');
    expect((await read('all')).map(({ number }) => number)).toEqual([last + 1]);
  });

  it('AC-OFFICE-WORKER-007.4 stay while they have no number, and are then numbered after everything that was shown', async () => {
    await insert('unnumbered', null, reveille().clock.now() - 2 * WEEK_MS);
    await log().forgetOld();
    const last = await reveille().get(EventRepository).lastNumber();
    expect((await read('unnumbered')).map(({ number }) => number)).toEqual([last + 1]);
    reveille().clock.advance(WEEK_MS + 1);
    await log().forgetOld();
    expect(await read('unnumbered')).toEqual([]);
  });

  it('AC-OFFICE-WORKER-007.4 stay behind a younger one with a lower number, so that what is missing is always the beginning', async () => {
    await tell('holed');
    const lowest = await log().latest();
    await insert('old-but-later', lowest + 1, reveille().clock.now() - WEEK_MS - 1, 'holed');
    await asOutsider(reveille(), (outsider) =>
      outsider.query('UPDATE event_sequence SET last = $1', [lowest + 1]),
    );
    await log().forgetOld();
    expect(await read('holed')).toHaveLength(2);
    reveille().clock.advance(WEEK_MS + 1);
    await log().forgetOld();
    expect(await read('holed')).toEqual([]);
  });

  it('AC-OFFICE-WORKER-007.4 go in batches, and once when two servers look at once', async () => {
    const old = reveille().clock.now() - WEEK_MS - 1;
    const last = await log().latest();
    await asOutsider(reveille(), async (outsider) => {
      await outsider.query(
        `WITH RECURSIVE places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < 1100)
         INSERT INTO events (id, number, workspace_id, type, at, subject, data)
         SELECT 'many-' || place, ${last} + place, 'many', 'task.created', ${old}, '{}', '{}' FROM places`,
      );
      await outsider.query('UPDATE event_sequence SET last = $1', [last + 1100]);
    });
    await tell('many');
    await Promise.all([log().forgetOld(), log().forgetOld()]);
    expect((await read('many')).map(({ number }) => number)).toEqual([last + 1101]);
  });
});
