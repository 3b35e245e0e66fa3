import { createHash } from 'node:crypto';
import { TasksService } from '../../src/office/tasks.service.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import type { Allowance } from '../../src/scheduler/allowance.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { statementsOf } from '../support/statements.js';
import { Workplace, agentAssignment } from '../support/wakes.js';

const COUNTER = 'office_assignment_rate_limit_total';
const UNATTRIBUTED = { 'reason="task_unattributed"': 1 };
const EXHAUSTED = { 'reason="allowance_exhausted"': 1 };

/** The task whose allowance is exhausted in every case below. */
const T = 'T-1';

const UNKNOWN: Partial<Allowance> = { observed: null, retryAt: null };

onEachDatabase('the scope of the allowance', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));

  /** An office in which the allowance of {@link T} is exhausted. */
  const exhausted = async () => {
    const office = await Workplace.open(reveille());
    const { id } = await office.queued({ payload: agentAssignment(T) });
    for (let copy = 1; copy < ALLOWANCE_LIMIT; copy += 1) await office.copy(id);
    return office;
  };

  /** Shows that nothing that came before has opened or spent the allowance of {@link T}. */
  const expectUntouched = async (office: Workplace) => {
    const { allowance } = await office.wake({ payload: agentAssignment(T) });
    expect(allowance?.observed).toBe(ALLOWANCE_LIMIT);
  };

  describe('takes in', () => {
    it.each([
      ['the shape that the producer gives it', agentAssignment(T)],
      ['no acting agent', `{"task_id":"${T}","actor_type":"agent"}`],
      ['fields in another order, and spaces', `\n{ "actor_type" : "agent" , "x": [1], "task_id" : "${T}" }`],
      ['escapes that spell the same', '{"t\\u0061sk_id":"\\u0054-1","actor_type":"\\u0061gent"}'],
      [
        'a field twice, of which the last counts',
        `{"task_id":"x","actor_type":"user","task_id":"${T}","actor_type":"agent"}`,
      ],
      ['an acting agent that is no text', `{"task_id":"${T}","actor_type":"agent","actor_id":{"a":1}}`],
      [
        'a field that JavaScript knows',
        `{"__proto__":{"actor_type":"user"},"task_id":"${T}","actor_type":"agent"}`,
      ],
    ])('AC-OFFICE-ASSIGN-RATE-001.1 a payload with %s', async (_what, payload) => {
      const office = await exhausted();
      const moved = await movedBy(reveille(), COUNTER, async () => {
        expect(await office.wake({ payload })).toMatchObject({ outcome: 'rate_limited' });
      });
      expect(moved).toEqual(EXHAUSTED);
    });
  });

  describe('leaves out', () => {
    const OUTSIDE: [string, string, string?][] = [
      ['another reason', agentAssignment(T), 'task_comment'],
      ['a reason in other letters', agentAssignment(T), 'Task_assigned'],
      ['a person', `{"task_id":"${T}","actor_type":"user","actor_id":"a1"}`],
      ['nobody', `{"task_id":"${T}"}`],
      ['an actor type that nobody knows', `{"task_id":"${T}","actor_type":"system"}`],
      ['an empty actor type', `{"task_id":"${T}","actor_type":""}`],
      ['null as the actor type', `{"task_id":"${T}","actor_type":null}`],
      ['“Agent”', `{"task_id":"${T}","actor_type":"Agent"}`],
      ['“AGENT”', `{"task_id":"${T}","actor_type":"AGENT"}`],
      ['“ agent”', `{"task_id":"${T}","actor_type":" agent"}`],
      ['“agent\\n”', `{"task_id":"${T}","actor_type":"agent\\n"}`],
      ['“agent” and a NUL', `{"task_id":"${T}","actor_type":"agent\\u0000"}`],
      ['“agent” and half a character', `{"task_id":"${T}","actor_type":"agent\\ud800"}`],
      ['“аgent” with a Cyrillic а', `{"task_id":"${T}","actor_type":"\\u0430gent"}`],
      ['a list that holds “agent”', `{"task_id":"${T}","actor_type":["agent"]}`],
      ['an object', `{"task_id":"${T}","actor_type":{"agent":true}}`],
      ['true', `{"task_id":"${T}","actor_type":true}`],
      ['a number', `{"task_id":"${T}","actor_type":1}`],
      ['the field in other letters', `{"task_id":"${T}","Actor_Type":"agent","actorType":"agent"}`],
      ['the field one level down', `{"task_id":"${T}","payload":{"actor_type":"agent"}}`],
      ['an actor that JavaScript would inherit', `{"task_id":"${T}","__proto__":{"actor_type":"agent"}}`],
      ['an actor that is overwritten', `{"task_id":"${T}","actor_type":"agent","actor_type":"user"}`],
      ['neither actor nor task', '{}'],
      ['a person and no task', '{"actor_type":"user"}'],
      ['text that does not parse', 'not json'],
      ['nothing', ''],
      ['half a payload', `{"task_id":"${T}","actor_type":"agent"`],
      ['a payload and more', `{"task_id":"${T}","actor_type":"agent"}}`],
      ['a list', `[{"task_id":"${T}","actor_type":"agent"}]`],
      ['a text that holds a payload', JSON.stringify(agentAssignment(T))],
      ['a number as the payload', '7'],
      ['null as the payload', 'null'],
      ['true as the payload', 'true'],
      ['a NUL character between the fields', `{"task_id":"${T}",\0"actor_type":"agent"}`],
      ['a byte order mark in front', `\ufeff${agentAssignment(T)}`],
    ];

    it.each(OUTSIDE)(
      'AC-OFFICE-ASSIGN-RATE-001.1 %s: admitted, counted nowhere, using nothing',
      async (_what, payload, reason = 'task_assigned') => {
        const office = await exhausted();
        const moved = await movedBy(reveille(), COUNTER, async () => {
          expect(await office.wake({ payload, reason })).toMatchObject({
            outcome: 'queued',
            allowance: null,
          });
        });
        expect(moved).toEqual({});
        await expectUntouched(office);
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-001.1 such a wake without reading the count', async () => {
      const office = await exhausted();
      const agents = await office.agents(3);
      const sent = await statementsOf(reveille(), async () => {
        await office.queued({ agentProfileId: pick(agents, 0), reason: 'task_comment' });
        await office.queued({ agentProfileId: pick(agents, 1), payload: `{"task_id":"${T}"}` });
      });
      expect(sent.filter(({ sql }) => SHAPES.count.test(sql))).toEqual([]);
      const judged = await statementsOf(reveille(), () => office.wake({ agentProfileId: pick(agents, 2) }));
      expect(judged.filter(({ sql }) => SHAPES.count.test(sql))).toHaveLength(1);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.1 a caller inside the process who names no actor, as a person', async () => {
      const office = await Workplace.open(reveille());
      await office.exhaust();
      const assignee = await office.agent();
      const { reactions } = await reveille().get(TasksService).assign(office.taskId, assignee);
      expect(reactions).toMatchObject([{ outcome: 'queued', allowance: null }]);
      const run = await office.run(pick(reactions).runId ?? '');
      expect(run).toMatchObject({ actorType: 'user', actorId: null });
      expect(JSON.parse(run.payload)).not.toHaveProperty('actor_id');
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });
  });

  describe('takes in without a task', () => {
    it.each([
      ['absent', '{"actor_type":"agent","actor_id":"a1"}'],
      ['null', '{"task_id":null,"actor_type":"agent"}'],
      ['empty', '{"task_id":"","actor_type":"agent"}'],
      ['a number', '{"task_id":42,"actor_type":"agent"}'],
      ['a big number', '{"task_id":12345678901234567890,"actor_type":"agent"}'],
      ['true', '{"task_id":true,"actor_type":"agent"}'],
      ['a list', `{"task_id":["${T}"],"actor_type":"agent"}`],
      ['an object', `{"task_id":{"id":"${T}"},"actor_type":"agent"}`],
      ['overwritten by a number', `{"task_id":"${T}","actor_type":"agent","task_id":42}`],
      ['one that JavaScript would inherit', `{"__proto__":{"task_id":"${T}"},"actor_type":"agent"}`],
      ['in other letters', `{"Task_Id":"${T}","taskId":"${T}","actor_type":"agent"}`],
    ])('AC-OFFICE-ASSIGN-RATE-002.3 a payload whose task id is %s', async (_what, payload) => {
      const office = await exhausted();
      const moved = await movedBy(reveille(), COUNTER, async () => {
        expect(await office.wake({ payload })).toMatchObject({ outcome: 'queued', allowance: UNKNOWN });
      });
      expect(moved).toEqual(UNATTRIBUTED);
      await expectUntouched(office);
    });

    it('AC-OFFICE-ASSIGN-RATE-002.3 as many of those as come', async () => {
      const office = await Workplace.open(reveille());
      const payload = '{"task_id":42,"actor_type":"agent"}';
      const moved = await movedBy(reveille(), COUNTER, () => office.spend(ALLOWANCE_LIMIT + 1, { payload }));
      expect(moved).toEqual({ 'reason="task_unattributed"': ALLOWANCE_LIMIT + 1 });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.3 and never counts a number with the text that looks like it', async () => {
      const office = await Workplace.open(reveille());
      await office.exhaust({ payload: '{"task_id":42,"actor_type":"agent"}' });
      expect((await office.wake({ payload: agentAssignment('42') })).allowance).toMatchObject({
        observed: 0,
      });
      expect((await office.wake({ payload: agentAssignment('42') })).allowance).toMatchObject({
        observed: 1,
      });
    });

    it('AC-OFFICE-ASSIGN-RATE-002.3 after the reason and the actor have been asked', async () => {
      const office = await Workplace.open(reveille());
      const moved = await movedBy(reveille(), COUNTER, async () => {
        await office.queued({ payload: '{"actor_type":"agent"}', reason: 'task_comment' });
        await office.queued({ payload: '{"actor_type":"user"}' });
        await office.queued({ payload: '{}' });
      });
      expect(moved).toEqual({});
    });
  });

  describe('tells apart', () => {
    const spendsItsOwn = async (id: string, others: readonly string[]) => {
      const office = await Workplace.open(reveille());
      await office.exhaust({ payload: agentAssignment(id) });
      expect(await office.wake({ payload: agentAssignment(id) })).toMatchObject({ outcome: 'rate_limited' });
      for (const other of others)
        expect((await office.wake({ payload: agentAssignment(other) })).allowance).toMatchObject({
          observed: 0,
        });
    };

    it.each([
      ['NUL characters', 'a\0b', ['ab', 'a', 'a\ufffdb', 'a\0c', 'a\\u0000b']],
      ['halves of characters', 'a\ud800', ['a', 'a\ufffd', 'a\ud801', 'a\udc00']],
      ['characters of several bytes', '🦊é', ['🦊', '🦊e\u0301', '🦊é ']],
      ['quotes and backslashes', `'";--\\`, [`'";--`, `"`, `'";--\\\\`]],
    ])('AC-OFFICE-ASSIGN-RATE-001.3 tasks whose ids hold %s', async (_what, id, others) => {
      await spendsItsOwn(id, others);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.3 tasks whose ids are longer than any index can hold', async () => {
      // Digests cannot be compressed, which would make a long text a short one.
      const digest = (n: number) => createHash('sha512').update(String(n)).digest('hex');
      const long = Array.from({ length: 100 }, (_, n) => digest(n)).join('');
      await spendsItsOwn(long, [`${long}y`, long.slice(1), `${long.slice(0, -1)}y`]);
    });

    it('COALESCING-5 tasks whose ids no database can store as they are', async () => {
      const office = await Workplace.open(reveille());
      const agentProfileId = await office.agent();
      const wake = (id: string) => office.wake({ agentProfileId, payload: JSON.stringify({ task_id: id }) });
      for (const id of ['a\0', 'a\ud800', 'a\ud801', 'a', 'a\ufffd']) {
        expect(await wake(id)).toMatchObject({ outcome: 'queued' });
        expect(await wake(id)).toMatchObject({ outcome: 'coalesced' });
      }
    });
  });

  describe('stores', () => {
    it.each([
      ['a NUL character', `{"task_id":"${T}","x":"\0"}`, `{"task_id":"${T}","x":"\ufffd"}`],
      ['half a character', `{"task_id":"${T}","x":"\ud800"}`, `{"task_id":"${T}","x":"\ufffd"}`],
      ['an escape of either', '{"x":"\\u0000\\ud800"}', '{"x":"\\u0000\\ud800"}'],
    ])('a payload with %s as both databases can', async (_what, payload, stored) => {
      const office = await Workplace.open(reveille());
      expect((await office.queued({ payload })).payload).toBe(stored);
    });
  });
});
