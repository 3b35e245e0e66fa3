const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * For how long a time of day that has passed still means today, in milliseconds: a message takes its way, and its
 * author's clock is not ours. Later it means tomorrow.
 */
const JUST_PASSED_MS = 5 * MINUTE_MS;

/** What a clock on a wall shows. */
export interface TimeOfDay {
  readonly hour: number;
  readonly minute: number;
  /** `am` or `pm`; undefined on a clock of 24 hours. */
  readonly half: string | undefined;
}

/**
 * When it is next that time in the zone, a name of the IANA's; now when it has just been. Null for a time or a zone that
 * does not exist. Where clocks are put forward or back before then it may be off by as much as they are.
 */
export function nextTimeOfDay(time: TimeOfDay, zone: string, now: number): number | null {
  const wanted = minutesOf(time);
  const shown = minutesIn(zone, now);
  if (wanted === null || shown === null) return null;
  const minuteBegan = now - (now % MINUTE_MS);
  const today = minuteBegan + (wanted - shown) * MINUTE_MS;
  const instants = [today - DAY_MS, today, today + DAY_MS];
  const next = instants.find((instant) => instant > now - JUST_PASSED_MS);
  return next === undefined ? null : Math.max(next, now);
}

function minutesOf({ hour, minute, half }: TimeOfDay): number | null {
  const isTime = half === undefined ? hour <= 23 : hour >= 1 && hour <= 12;
  if (!isTime || minute > 59) return null;
  const hours = half === undefined ? hour : (hour % 12) + (half === 'pm' ? 12 : 0);
  return hours * 60 + minute;
}

/** The minute of the day that clocks in the zone show. */
function minutesIn(zone: string, now: number): number | null {
  try {
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    const [hour, minute] = format.format(now).split(':').map(Number);
    return hour === undefined || minute === undefined ? null : hour * 60 + minute;
  } catch {
    return null;
  }
}
