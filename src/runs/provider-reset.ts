import { nextTimeOfDay } from './time-of-day.js';

/** How much of a message is read, in UTF-16 units from its end: a program says last why it ended. */
const READ_LENGTH = 16_000;

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

type Unit = keyof typeof UNITS_MS;

/** Every repetition below is bounded, so that a pattern takes a time linear in the length of the text. */
const UNIT = String.raw`(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])`;
const AMOUNT = String.raw`\d{1,9}(?:\.\d{1,9})? ?${UNIT}`;
const AGAIN = String.raw`(?<![a-z])(?:try again|retry|resets?|available(?: again)?|wait)`;
const MARKS = String.raw`["'\s:=~\\]{0,6}`;
const STAMP = String.raw`(\d{13}|\d{10})(?!\d|\.\d)`;

/** `try again in 6m0s`, `"retryDelay": "34.5s"`, `Retry-After: 5 minutes`, `resets in 2 hours and 5 minutes`. */
const DURATION = new RegExp(
  String.raw`${AGAIN}[-_ ]?(?:in|after|delay|for)?${MARKS}(${AMOUNT}(?:(?: and |, ?| )?${AMOUNT}){0,4})`,
  'gi',
);

/** `Retry-After: 120`, `"retry_after": 20.5`, in seconds. */
const SECONDS = new RegExp(
  String.raw`retry[-_ ]?after${MARKS}(\d{1,9}(?:\.\d{1,9})?)(?![\w:/-]|\.\d| ?${UNIT})`,
  'gi',
);

/** `…|1764576000` and `x-ratelimit-reset: 1764576000`, in seconds or milliseconds since 1970. */
const UNIX = new RegExp(String.raw`(?:\| ?|(?:reset|retry)[a-z_-]{0,24}${MARKS}(?:at |on )?)${STAMP}`, 'gi');

/** `Retry-After: Wed, 21 Oct 2026 07:28:00 GMT` and `…-reset: 2026-10-21T07:28:00Z`. */
const HTTP_DATE = String.raw`(?:mon|tue|wed|thu|fri|sat|sun), \d\d [a-z]{3} \d{4} \d\d:\d\d:\d\d gmt`;
const ISO_DATE = String.raw`\d{4}-\d\d-\d\dt\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:z|[+-]\d\d:\d\d)`;
const DATE = new RegExp(
  String.raw`(?:reset|retry|try again)[a-z_ -]{0,24}${MARKS}(${HTTP_DATE}|${ISO_DATE})`,
  'gi',
);

/** `resets at 3pm`, `resets 14:30 (UTC)`, `try again at 3:05 PM (Europe/Berlin)`. */
const TIME_OF_DAY = new RegExp(
  String.raw`${AGAIN}[\s:]{0,3}(?:at |on )?(\d{1,2})(?::(\d\d))?(?::\d\d)? ?([ap]\.?m\b\.?)?(?![\w:-])(?: ?\(([a-z0-9_+/-]{1,40})\)| (utc|gmt)(?!\w))?`,
  'gi',
);

/** How many instants of one form are looked at, the last: a message that names more of them is none. */
const MOST_NAMED = 20;

/**
 * The instant at which the provider says in its message that it is there again. Of several the last: until then one of
 * its limits is still shut. Null when it names none, or none between now and the horizon. Never throws, whatever the text.
 */
export function resetIn(message: string, now: number, horizonMs: number): number | null {
  const text = message.slice(-READ_LENGTH);
  const instants = [...durations(text, now), ...stamps(text), ...dates(text), ...timesOfDay(text, now)];
  const believed = instants.filter((instant) => instant >= now && instant <= now + horizonMs);
  return believed.length === 0 ? null : Math.ceil(Math.max(...believed));
}

function durations(text: string, now: number): readonly number[] {
  return [
    ...groupsOf(DURATION, text).map(([amounts = '']) => now + millisecondsIn(amounts)),
    ...groupsOf(SECONDS, text).map(([seconds]) => now + Number(seconds) * UNITS_MS.s),
  ];
}

function millisecondsIn(amounts: string): number {
  const each = groupsOf(/(\d+(?:\.\d+)?) ?([a-z]+)/gi, amounts);
  return each.reduce((sum, [count, unit = '']) => sum + Number(count) * UNITS_MS[unitOf(unit)], 0);
}

function unitOf(word: string): Unit {
  const lower = word.toLowerCase();
  if (lower === 'ms' || lower.startsWith('milli')) return 'ms';
  return lower.charAt(0) as Unit;
}

function stamps(text: string): readonly number[] {
  return groupsOf(UNIX, text).map(([digits = '']) => Number(digits) * (digits.length === 10 ? 1000 : 1));
}

function dates(text: string): readonly number[] {
  return groupsOf(DATE, text).map(([date = '']) => Date.parse(date));
}

function timesOfDay(text: string, now: number): readonly number[] {
  return groupsOf(TIME_OF_DAY, text).flatMap(([hour, minute, half, zone, bareZone]) => {
    // A bare number may be anything.
    if (minute === undefined && half === undefined) return [];
    const time = {
      hour: Number(hour),
      minute: Number(minute ?? 0),
      half: half?.toLowerCase().replaceAll('.', ''),
    };
    return nextTimeOfDay(time, zone ?? bareZone ?? 'UTC', now) ?? [];
  });
}

function groupsOf(pattern: RegExp, text: string): readonly (readonly (string | undefined)[])[] {
  return Array.from(text.matchAll(pattern), (match) => match.slice(1)).slice(-MOST_NAMED);
}
