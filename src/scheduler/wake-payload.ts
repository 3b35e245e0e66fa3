import { createHash } from 'node:crypto';
import type { Actor } from '../auth/principal.js';
import { storable } from '../database/storable.js';
import { parseObject } from '../runs/run-payload.js';

/** Longer than any id of ours, shorter than what an index can hold. */
const PLAIN_LENGTH = 255;

const DIGEST_PREFIX = 'sha256:';

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
    actorId: fields['actor_id'] === '' ? null : readText(fields['actor_id']),
  };
}

/** The same payload with another actor. What is no object names none, and stays as it is. */
export function actedBy(payload: string, { type, id }: Actor): string {
  const fields = parseObject(payload);
  return fields === null ? payload : JSON.stringify({ ...fields, actor_type: type, actor_id: id });
}

function readTaskId(value: unknown): string | null {
  return value === undefined || value === null ? '' : readText(value);
}

/**
 * The text by which values are compared and found. One that a column or an index cannot hold stands as its digest, so
 * that two different values stay two.
 */
function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const isPlain =
    value.length <= PLAIN_LENGTH && storable(value) === value && !value.startsWith(DIGEST_PREFIX);
  return isPlain
    ? value
    : DIGEST_PREFIX + createHash('sha256').update(Buffer.from(value, 'utf16le')).digest('hex');
}
