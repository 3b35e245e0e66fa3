import { parseObject } from '../runs/run-payload.js';

/**
 * What admission needs to know of a payload. Parsed once, at the door, and stored beside the payload, so that every
 * comparison is between columns and no stored row can break a count.
 */
export interface PayloadFacts {
  /** The task's id; `''` when the payload names no task; null when what it names equals no id. */
  readonly taskId: string | null;
  /** Null unless it is a string. */
  readonly actorType: string | null;
  /** Null unless it is a string that says something. */
  readonly actorId: string | null;
}

const UNREADABLE: PayloadFacts = { taskId: null, actorType: null, actorId: null };

/** Reads the facts of an encoded payload. One that does not parse, or is no object, tells nothing. */
export function readPayload(payload: string): PayloadFacts {
  const fields = parseObject(payload);
  if (fields === null) return UNREADABLE;
  return {
    taskId: readTaskId(fields['task_id']),
    actorType: readText(fields['actor_type']),
    actorId: readText(fields['actor_id']) === '' ? null : readText(fields['actor_id']),
  };
}

/** A text as both databases can store it: PostgreSQL knows neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function readTaskId(value: unknown): string | null {
  return value === undefined || value === null ? '' : readText(value);
}

/** Two texts that cannot be stored as they are must stay two: they are kept in their escaped form. */
function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  return storable(value) === value ? value : JSON.stringify(value);
}
