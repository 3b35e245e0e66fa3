import { z } from 'zod';
import { MOST_DEPTH, MOST_KEYS, isWithinLimits } from '../json-limits.js';

/** No colon: ids stand in keys. Never trimmed, never folded: what looks alike is not the same. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Lengths count code points, as a person would. */
const upTo = (most: number) =>
  z.string().refine((value) => codePoints(value) <= most, `must have at most ${most} characters`);

function codePoints(value: string): number {
  return Array.from(value).length;
}

/** A text as both databases can store and compare it. */
export const isStorable = (value: string): boolean => value.isWellFormed() && !value.includes('\0');

export const id = z.string().regex(ID, 'must be 1 to 128 letters, digits, dots, dashes or underscores');

/** A name, title or reason of a pause. */
export const shortText = upTo(500)
  .min(1, 'must not be empty')
  .refine(isStorable, 'holds characters that no text has');

/** A longer text that somebody wrote. */
export const longText = upTo(16_000).refine(isStorable, 'holds characters that no text has');

/** The key by which a redelivery is recognised. */
export const callersKey = upTo(255)
  .regex(/\S/, 'must not be blank')
  .refine(isStorable, 'holds characters that no text has');

export const wakeReason = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and underscores');

export const payload = z
  .record(z.string(), z.unknown())
  .refine(isWithinLimits, `must have at most ${MOST_KEYS} keys, at most ${MOST_DEPTH} levels deep`);

export const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value).getTime());
