import * as fc from 'fast-check';
import {
  ALLOWANCE_LIMIT,
  ALLOWANCE_WINDOW_MS,
  COALESCING_WINDOW_MS,
  COMMENT_KEY_PREFIX,
} from '../../src/scheduler/admission-limits.js';
import { onEachDatabase } from '../support/databases.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { Workplace, outcomes } from '../support/wakes.js';

const MINUTE_MS = 60_000;

onEachDatabase('the allowance’s window', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const open = () => Workplace.open(reveille());
  const now = () => reveille().clock.now();
  const advance = (ms: number) => {
    reveille().clock.advance(ms);
  };

  describe('at its edges', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.11 still holds a row one millisecond younger than W', async () => {
      const office = await open();
      await office.exhaust();
      advance(ALLOWANCE_WINDOW_MS - 1);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.11 holds no row exactly W old', async () => {
      const office = await open();
      await office.exhaust();
      advance(ALLOWANCE_WINDOW_MS);
      expect(await office.wake()).toMatchObject({ outcome: 'queued', allowance: { observed: 0 } });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.11 holds rows of the very instant of the judgement', async () => {
      const office = await open();
      const runs = await office.exhaust();
      expect(runs.every(({ requestedAt }) => requestedAt === now())).toBe(true);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.11 holds nothing later than the judgement', async () => {
      const office = await open();
      for (const { id } of await office.exhaust()) await office.alter(id, { requested_at: now() + 1 });
      expect(await office.wake()).toMatchObject({ outcome: 'queued', allowance: { observed: 0 } });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.11 is measured to the millisecond, row by row', async () => {
      const office = await open();
      const runs = await office.exhaust();
      const ages = [ALLOWANCE_WINDOW_MS + 1, ALLOWANCE_WINDOW_MS, ALLOWANCE_WINDOW_MS - 1, 0, -1];
      for (const [index, age] of ages.entries())
        await office.alter(pick(runs, index).id, { requested_at: now() - age });
      expect((await office.wake()).allowance).toMatchObject({ observed: 2 });
    });
  });

  describe('as time goes by', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.2 rolls: refused a millisecond before the rows leave it, admitted when they do', async () => {
      const office = await open();
      await office.exhaust();
      advance(ALLOWANCE_WINDOW_MS - 1);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      advance(1);
      expect(await office.wake()).toMatchObject({ outcome: 'queued' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 frees one share at a time, each exactly W after its own admission', async () => {
      const office = await open();
      for (let wake = 0; wake < ALLOWANCE_LIMIT; wake += 1) {
        await office.queued();
        advance(MINUTE_MS);
      }
      for (let refusal = 0; refusal < 3; refusal += 1)
        expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      advance(ALLOWANCE_WINDOW_MS - ALLOWANCE_LIMIT * MINUTE_MS);
      for (let wake = 0; wake < ALLOWANCE_LIMIT; wake += 1) {
        expect(outcomes([await office.wake(), await office.wake()])).toEqual({ queued: 1, rate_limited: 1 });
        advance(MINUTE_MS - 1);
        expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
        advance(1);
      }
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 gives the whole allowance back after W, and no more than that', async () => {
      const office = await open();
      await office.exhaust();
      for (let refusal = 0; refusal < 3; refusal += 1) await office.wake();
      advance(ALLOWANCE_WINDOW_MS + MINUTE_MS);
      await office.exhaust();
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 dates a merged run by its first wake', async () => {
      const office = await open();
      const first = pick(await office.exhaust());
      advance(COALESCING_WINDOW_MS - 1);
      const { agentProfileId } = first;
      expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      advance(ALLOWANCE_WINDOW_MS - COALESCING_WINDOW_MS);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      advance(1);
      expect(await office.wake()).toMatchObject({ outcome: 'queued', allowance: { observed: 0 } });
    });
  });

  describe('and the instant of the next admission', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.4 is named by the refusal and kept to the millisecond', async () => {
      const office = await open();
      const oldest = await office.queued();
      advance(MINUTE_MS);
      await office.spend(ALLOWANCE_LIMIT - 1);
      const retryAt = oldest.requestedAt + ALLOWANCE_WINDOW_MS;
      expect((await office.wake()).allowance).toMatchObject({ retryAt });
      reveille().clock.set(retryAt - 1);
      expect((await office.wake()).allowance).toMatchObject({ observed: ALLOWANCE_LIMIT, retryAt });
      reveille().clock.set(retryAt);
      expect(await office.wake()).toMatchObject({ outcome: 'queued', allowance: { retryAt: null } });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.4 waits for as many rows to leave as there are too many', async () => {
      const office = await open();
      const oldest = await office.queued();
      await office.copy(oldest.id);
      advance(MINUTE_MS);
      const next = await office.queued();
      advance(MINUTE_MS);
      for (let more = 1; more < ALLOWANCE_LIMIT; more += 1)
        await office.copy(next.id, { requested_at: now() });
      const retryAt = next.requestedAt + ALLOWANCE_WINDOW_MS;
      const observed = ALLOWANCE_LIMIT + 2;
      expect((await office.wake()).allowance).toMatchObject({ observed, retryAt });
      reveille().clock.set(retryAt - 1);
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      reveille().clock.set(retryAt);
      expect(await office.wake()).toMatchObject({ outcome: 'queued' });
    });
  });

  describe('over any history', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.2, AC-OFFICE-ASSIGN-RATE-001.4 holds N admissions at most, and refuses only when it holds N', async () => {
      const step = fc.oneof(
        fc.constantFrom(
          0,
          1,
          ALLOWANCE_WINDOW_MS - 1,
          ALLOWANCE_WINDOW_MS,
          ALLOWANCE_WINDOW_MS / ALLOWANCE_LIMIT,
        ),
        fc.integer({ min: 0, max: ALLOWANCE_WINDOW_MS / 2 }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 24 }), async (steps) => {
          const office = await open();
          const agentProfileId = await office.agent();
          const admitted: number[] = [];
          for (const [index, ms] of steps.entries()) {
            advance(ms);
            // A comment's key keeps the wakes of one agent from being merged.
            const idempotencyKey = `${COMMENT_KEY_PREFIX}${index}`;
            const { outcome, allowance } = await office.wake({ agentProfileId, idempotencyKey });
            const inWindow = admitted.filter((instant) => instant > now() - ALLOWANCE_WINDOW_MS);
            expect(allowance?.observed).toBe(inWindow.length);
            expect(outcome).toBe(inWindow.length < ALLOWANCE_LIMIT ? 'queued' : 'rate_limited');
            if (outcome === 'queued') admitted.push(now());
          }
        }),
        { numRuns: 15 },
      );
    });
  });
});
