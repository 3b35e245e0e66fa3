import fc from 'fast-check';
import { resetIn } from '../../src/runs/provider-reset.js';
import { RESET_HORIZON_MS } from '../../src/runs/retry-policy.js';

/** A Thursday, at half past ten in the evening. */
const NOW = Date.UTC(2026, 0, 1, 22, 30);

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const secondsNow = NOW / SECOND;

const inMs = (text: string, now = NOW): number | null => {
  const reset = resetIn(text, now, RESET_HORIZON_MS);
  return reset === null ? null : reset - now;
};

describe('the instant that a provider names', () => {
  it.each<[message: string, after: number]>([
    ['Rate limit reached. Please try again in 20s.', 20 * SECOND],
    ['try again in 20 seconds', 20 * SECOND],
    ['Try again in 5 minutes', 5 * MINUTE],
    ['Please try again in 1.5s', 1500],
    ['Please try again in 6m0s. Visit the site', 6 * MINUTE],
    ['try again in 28ms', 28],
    ['try again in 1 day, 2 hours and 3 mins', 26 * HOUR + 3 * MINUTE],
    ['Please retry in 34.07s.', 34_070],
    ['{"retryDelay": "34s"}', 34 * SECOND],
    [String.raw`{\"retryDelay\":\"34s\"}`, 34 * SECOND],
    ['limit resets in 2h5m', 2 * HOUR + 5 * MINUTE],
    ['please wait 3 minutes', 3 * MINUTE],
    ['Retry-After: 120', 120 * SECOND],
    ['retry-after:120\nrequest-id: 77', 120 * SECOND],
    ['Retry-After: 120 request-id: 77', 120 * SECOND],
    ['retry-after: 2 minutes', 2 * MINUTE],
    ['{"message": "You are being rate limited.", "retry_after": 20.5}', 20_500],
    ['RETRY AFTER 7', 7 * SECOND],
    ['Retry-After: 0', 0],
    ['Retry-After: Thu, 01 Jan 2026 22:31:40 GMT', 100 * SECOND],
    ['anthropic-ratelimit-requests-reset: 2026-01-01T22:35:00Z', 5 * MINUTE],
    ['it resets at 2026-01-02T00:30:00.500+01:00', HOUR + 500],
  ])('is a time from now, or a date: %s', (message, after) => {
    expect(inMs(message)).toBe(after);
  });

  it.each<[message: string, hour: number, minute: number]>([
    ['5-hour limit reached ∙ resets 11pm', 23, 0],
    ['Your limit will reset at 11PM.', 23, 0],
    ['resets 23:05', 23, 5],
    ['resets 23:05 (UTC)', 23, 5],
    ['resets at 23:05:59 UTC', 23, 5],
    ['resets at 3am', 27, 0],
    ['resets at 12am', 24, 0],
    ['resets 12pm', 36, 0],
    ['resets at 14:30 (UTC)', 24 + 14, 30],
    ['resets at 10:31 p.m.', 22, 31],
    ['try again at 3:05 AM', 27, 5],
    ['limit will reset at 1am (Europe/Berlin)', 24, 0],
    ['limit will reset at 6pm (America/New_York)', 23, 0],
    ['resets 4:30am (Asia/Kolkata)', 23, 0],
  ])('is the next time of that name: %s', (message, hour, minute) => {
    expect(inMs(message)).toBe(Date.UTC(2026, 0, 1, hour, minute) - NOW);
  });

  it.each([
    `Claude AI usage limit reached|${secondsNow + 60}`,
    `Claude AI usage limit reached|${(secondsNow + 60) * SECOND}`,
    `limit reached| ${secondsNow + 60}.`,
    `x-ratelimit-reset: ${secondsNow + 60}`,
    `it resets at ${secondsNow + 60}`,
    `Retry-After: ${secondsNow + 60}`,
    `"reset_at":${(secondsNow + 60) * SECOND}`,
  ])('is a time since 1970: %s', (message) => {
    expect(inMs(message)).toBe(MINUTE);
  });

  it.each<[message: string, after: number]>([
    ['Limit 30000, used 29990. Please try again in 20s. Request 1764576000, trace 99.', 20 * SECOND],
    ['Retry-After: 5; try again in 20 seconds', 20 * SECOND],
    ['resets at 9pm, try again in 20s, a|1764576000', 22.5 * HOUR],
    [`line one\nline two, ${'9'.repeat(500)}\ntry again in 20s`, 20 * SECOND],
    [`${'try again in 20s, '.repeat(99)}try again in 10s`, 20 * SECOND],
  ])('is the last of those that are still to come: %s', (message, after) => {
    expect(inMs(message)).toBe(after);
  });

  it.each([
    '',
    'exit code 1',
    'Connection reset by peer',
    'connection reset 3 times',
    'retried 5 times',
    'waited for 3000',
    'Try again later',
    'try again in a moment',
    'try again in 5 bananas',
    'try again in -5s',
    'resets at 25:00',
    'resets at 13pm',
    'resets at 0am',
    'resets at 3:75pm',
    'resets at 3',
    'resets 3pm (Middle/Earth)',
    'resets 2026-13-45T99:99:99Z',
    'Retry-After: Xyz, 99 Foo 2026 99:99:99 GMT',
    'Retry-After: Thu, 01 Foo 2026 22:31:40 GMT',
    'Retry-After: 1e9',
    'Retry-After: 99999999999999999999999999',
    'Retry-After: -5',
    'limit reached|17645760001',
    'limit reached|176457600',
    'version |1.2.3',
    'a|1234567890',
    `a|${secondsNow - 1}`,
    'Retry-After: Wed, 21 Oct 2015 07:28:00 GMT',
    'resets at 2015-10-21T07:28:00Z',
    'the request 1764576000 failed after 20s',
  ])('is none: %s', (message) => {
    expect(inMs(message)).toBeNull();
  });

  it('AC-OFFICE-WORKER-006.3 is believed up to the horizon and no further', () => {
    const days = RESET_HORIZON_MS / (24 * HOUR);
    expect(inMs(`try again in ${days} days`)).toBe(RESET_HORIZON_MS);
    expect(inMs(`try again in ${days} days 1 ms`)).toBeNull();
    expect(inMs(`a|${secondsNow + RESET_HORIZON_MS / SECOND}`)).toBe(RESET_HORIZON_MS);
    expect(inMs(`a|${secondsNow + RESET_HORIZON_MS / SECOND + 1}`)).toBeNull();
    expect(inMs('try again in 99 days, or try again in 20s')).toBe(20 * SECOND);
  });

  it('is now for a time of day that has only just passed', () => {
    expect(inMs('resets at 10:30pm')).toBe(0);
    expect(inMs('resets at 10:26pm')).toBe(0);
    expect(inMs('resets at 10:25pm')).toBe(24 * HOUR - 5 * MINUTE);
    expect(inMs('resets at 23:58', Date.UTC(2026, 0, 1, 0, 1))).toBe(0);
    expect(inMs('resets at 00:02', Date.UTC(2026, 0, 1, 23, 58))).toBe(4 * MINUTE);
  });

  it('is looked for at the end of a message that is too long', () => {
    expect(inMs(`${'x'.repeat(100_000)} try again in 20s`)).toBe(20 * SECOND);
    expect(inMs(`try again in 20s ${'x'.repeat(100_000)}`)).toBeNull();
  });

  const words = fc.constantFrom(
    ...[
      'try again',
      'retry',
      'Retry-After',
      'resets',
      'at',
      'in',
      ' ',
      ' ',
      ':',
      '|',
      '"',
      '(',
      ')',
      '.',
      '-',
      '\\',
    ],
    ...[
      '1',
      '12',
      '1764576000',
      '9'.repeat(30),
      's',
      'minutes',
      'pm',
      'am',
      'GMT',
      '(UTC)',
      '14:30',
      '\u0000',
      '\ud800',
    ],
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(words, { maxLength: 40 }).map((parts) => parts.join('')),
  );

  it('never throws, and is never in the past or beyond the horizon, whatever the message', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 4_102_444_800_000 }), (text, now) => {
        const reset = resetIn(text, now, RESET_HORIZON_MS);
        if (reset === null) return;
        expect(Number.isSafeInteger(reset)).toBe(true);
        expect(reset).toBeGreaterThanOrEqual(now);
        expect(reset).toBeLessThanOrEqual(now + RESET_HORIZON_MS);
      }),
    );
  });

  it.each([
    '1',
    '1 ',
    'wait',
    'wait 1',
    'reset-',
    'try again in 1s ',
    'resets at 1:11pm (a',
    ' ',
    '"',
    '|1',
    'retry_after=',
  ])('is looked for in no more time than the text is long: %j without end', (piece) => {
    const hostile = piece.repeat(200_000 / piece.length);
    const begun = performance.now();
    resetIn(hostile, NOW, RESET_HORIZON_MS);
    expect(performance.now() - begun).toBeLessThan(500);
  });
});
