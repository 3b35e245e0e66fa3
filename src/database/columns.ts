import type { EntitySchemaColumnOptions } from 'typeorm';
import type { JsonObject } from './json.js';

/** PostgreSQL's driver hands out 64-bit integers as text; ours are instants and counts below 2^53. */
const asNumber = {
  to: (value: number | null | undefined) => value,
  from: (value: string | number | null) => (value === null ? null : Number(value)),
};

function readObject(value: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

type Extra = Pick<EntitySchemaColumnOptions, 'nullable' | 'primary'>;

/** A text of any length. PostgreSQL is told to compare it byte by byte, as SQLite does by itself. */
export const text = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => ({
  name,
  type: 'text',
  collation: 'C',
  ...extra,
});

/** A small whole number. */
export const integer = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => ({
  name,
  type: 'integer',
  ...extra,
});

export const boolean = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => ({
  name,
  type: 'boolean',
  ...extra,
});

/** An instant, in integer milliseconds since 1970 on both databases. */
export const instant = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => ({
  name,
  type: 'bigint',
  transformer: asNumber,
  ...extra,
});

/** A number that may outgrow 32 bits. */
export const counter = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => instant(name, extra);

/** A JSON object, kept as text. What somebody else has written there and is none reads as one without members. */
export const jsonObject = (name: string): EntitySchemaColumnOptions => ({
  ...text(name),
  transformer: { to: (value: JsonObject) => JSON.stringify(value), from: readObject },
});

/** A JSON value, kept as text: no query looks inside. */
export const json = (name: string, extra: Extra = {}): EntitySchemaColumnOptions => ({
  name,
  type: 'simple-json',
  collation: 'C',
  ...extra,
});
