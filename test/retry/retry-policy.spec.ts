import fc from 'fast-check';
import {
  RESET_GRACE_MS,
  RESET_HORIZON_MS,
  RETRY_DELAYS_MS,
  RETRY_JITTER,
  TOO_OLD_MS,
  isTooOld,
  planRetry,
} from '../../src/runs/retry-policy.js';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

describe('when a failed run is tried again', () => {
  it.each([
    [0, 2 * MINUTE],
    [1, 10 * MINUTE],
    [2, 30 * MINUTE],
    [3, 120 * MINUTE],
  ])(
    'AC-OFFICE-WORKER-006.1 U-220 waits after %i retries for the delay of the table, and for a quarter more at most',
    (retryCount, delay) => {
      const plan = (chance: number) => planRetry({ retryCount, error: 'it fails' }, NOW, chance);
      expect(plan(0)).toEqual({ at: NOW + delay, cause: 'backoff' });
      expect(plan(0.5)).toEqual({ at: NOW + 1.125 * delay, cause: 'backoff' });
      expect(plan(1 - 2 ** -32)).toEqual({ at: NOW + 1.25 * delay - 1, cause: 'backoff' });
    },
  );

  it.each([4, 5, 100, -1, 0.5])(
    'AC-OFFICE-WORKER-006.1 U-220 U-211 not once more after %f retries, whatever a provider says',
    (retryCount) => {
      expect(planRetry({ retryCount, error: 'try again in 20s' }, NOW, 0)).toBeNull();
    },
  );

  it.each([0, 3])(
    'AC-OFFICE-WORKER-006.3 lets the instant that a provider names win over the table, and adds a little',
    (retryCount) => {
      const plan = (error: string) => planRetry({ retryCount, error }, NOW, 0.9);
      const at = NOW + 20_000 + RESET_GRACE_MS;
      expect(plan('try again in 20s')).toEqual({ at, cause: 'provider_reset' });
      expect(plan('try again in 6 days')?.at).toBe(NOW + 6 * 24 * 60 * MINUTE + RESET_GRACE_MS);
      expect(plan('try again in 8 days')?.cause).toBe('backoff');
    },
  );

  it('is never before now, and never later than the bounds allow', () => {
    const most = Math.max(
      RESET_HORIZON_MS + RESET_GRACE_MS,
      Math.max(...RETRY_DELAYS_MS) * (1 + RETRY_JITTER),
    );
    const runs = fc.record({ retryCount: fc.integer({ min: 0, max: 3 }), error: fc.string() });
    const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(runs, chances, (run, chance) => {
        const at = planRetry(run, NOW, chance)?.at ?? -1;
        expect(at).toBeGreaterThan(NOW);
        expect(at).toBeLessThanOrEqual(NOW + most);
      }),
    );
  });
});

describe('U-221 what is too old to be tried again', () => {
  it('AC-OFFICE-WORKER-006.5 is what was requested more than a day ago, pauses not counted', () => {
    const at = NOW - TOO_OLD_MS;
    expect(isTooOld(at, NOW, 0)).toBe(false);
    expect(isTooOld(at - 1, NOW, 0)).toBe(true);
    expect(isTooOld(at - 1, NOW, 1)).toBe(false);
    expect(isTooOld(at - 3600, NOW, 3599)).toBe(true);
  });
});
