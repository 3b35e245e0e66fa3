import { SystemClock } from '../../src/clock/system-clock.js';
import { ProcessLock } from '../../src/database/process-lock.js';
import { RunInterrupts } from '../../src/runs/run-interrupts.js';
import { RunSignal } from '../../src/runs/run-signal.js';
import { Gate } from '../support/gate.js';
import { asOutsider, postgresUrl } from '../support/outsider.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

describe('processes on one PostgreSQL', () => {
  const one = useReveille(() => TestReveille.start('postgres'));
  const other = useReveille(() => TestReveille.start('postgres', { databaseUrl: postgresUrl(one()) }));

  /** Resolves when the signal of a process is heard. */
  const heardBy = (reveille: TestReveille) => {
    const heard = new Gate();
    const quiet = reveille.get(RunSignal).listen(() => {
      heard.open();
    });
    return heard.passed.finally(quiet);
  };

  /** Cuts the lines of both processes, and resolves once neither of the old ones is left. */
  const cut = async () => {
    const lines = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reveille line'`;
    await asOutsider(one(), async (outsider) => {
      const before = await outsider.query<{ pid: number }>(`SELECT pid ${lines}`);
      expect(before).toHaveLength(2);
      await outsider.query(`SELECT pg_terminate_backend(pid) ${lines}`);
      await until('both processes have a new line', async () => {
        const now = await outsider.query<{ pid: number }>(`SELECT pid ${lines}`);
        const isNew = now.every(({ pid }) => before.every((old) => old.pid !== pid));
        return now.length === 2 && isNew ? true : undefined;
      });
    });
  };

  it('AC-OFFICE-WORKER-009.2 hear each other’s signals', async () => {
    const heard = heardBy(other());
    one().get(RunSignal).send();
    await heard;
  });

  it('AC-OFFICE-WORKER-009.2 hear of an interrupt by its run, however many are told at once', async () => {
    const gates = Array.from({ length: 1_000 }, (_, place) => ({
      id: `run:${String(place)}`,
      heard: new Gate(),
    }));
    for (const { id, heard } of gates)
      other()
        .get(RunInterrupts)
        .listen(id, () => {
          heard.open();
        });
    // Both in one breath, and more than one notification can carry.
    for (const { id } of gates) one().get(RunInterrupts).hurry(id);
    await gates[0]?.heard.passed;
  });

  it('AC-OFFICE-WORKER-009.3 hold a name one at a time, and let go of it when they die', async () => {
    const inside = new Gate();
    const leave = new Gate();
    const holding = one()
      .get(ProcessLock)
      .tryDo('sweep', async () => {
        inside.open();
        await leave.passed;
      });
    await inside.passed;
    const did: string[] = [];
    const tryIt = (name: string) =>
      other()
        .get(ProcessLock)
        .tryDo(name, () => {
          did.push(name);
          return Promise.resolve();
        });
    await tryIt('sweep');
    await tryIt('another');
    expect(did).toEqual(['another']);
    // The line is what holds: without it, another process may go on.
    await cut();
    await until('the name is free', async () => {
      await tryIt('sweep');
      return did.includes('sweep') ? true : undefined;
    });
    leave.open();
    await holding;
  });

  it('AC-OFFICE-WORKER-009.2 hear each other again after the line was cut, and look once for what they may have missed', async () => {
    const looked = heardBy(other());
    await cut();
    await looked;
    const heard = heardBy(other());
    one().get(RunSignal).send();
    await heard;
  });

  it('AC-OFFICE-WORKER-009.4 agree on the time when one machine’s clock is wrong, whichever way', async () => {
    for (const wrong of [-600_000, 600_000]) {
      const clock = new SystemClock();
      clock.correct(wrong);
      const started = await TestReveille.start('postgres', { databaseUrl: postgresUrl(one()), clock });
      try {
        const [{ now } = { now: '0' }] = await asOutsider(one(), (outsider) =>
          outsider.query<{ now: string }>(
            'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
          ),
        );
        // A machine that is busy with other tests answers late.
        expect(Math.abs(clock.now() - Number(now))).toBeLessThan(10_000);
      } finally {
        await started.stop();
      }
    }
  });
});

describe('a process on SQLite', () => {
  const reveille = useReveille(() => TestReveille.start('sqlite'));

  it('is alone, does what it asks to do alone, and keeps its own time', async () => {
    const lock = reveille().get(ProcessLock);
    let did = false;
    await lock.tryDo('sweep', () => {
      did = true;
      return Promise.resolve();
    });
    expect([lock.isAlone, did]).toEqual([true, true]);
  });
});
