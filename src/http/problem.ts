import { HttpStatus } from '@nestjs/common';
import type { ErrorCode } from '../errors/reveille-error.js';

/** The HTTP status of every error code. */
const STATUS_OF = {
  validation_failed: HttpStatus.BAD_REQUEST,
  unauthenticated: HttpStatus.UNAUTHORIZED,
  forbidden: HttpStatus.FORBIDDEN,
  not_found: HttpStatus.NOT_FOUND,
  id_taken: HttpStatus.CONFLICT,
  agent_not_runnable: HttpStatus.CONFLICT,
  workspace_paused: HttpStatus.CONFLICT,
  pause_gate_unavailable: HttpStatus.SERVICE_UNAVAILABLE,
  session_conflict: HttpStatus.CONFLICT,
  illegal_transition: HttpStatus.CONFLICT,
  claim_lost: HttpStatus.CONFLICT,
  blocker_cycle: HttpStatus.CONFLICT,
  payload_too_large: HttpStatus.PAYLOAD_TOO_LARGE,
  unsupported_media_type: HttpStatus.UNSUPPORTED_MEDIA_TYPE,
  too_many_requests: HttpStatus.TOO_MANY_REQUESTS,
  overloaded: HttpStatus.SERVICE_UNAVAILABLE,
  database_unavailable: HttpStatus.SERVICE_UNAVAILABLE,
  internal: HttpStatus.INTERNAL_SERVER_ERROR,
} as const satisfies Record<ErrorCode, HttpStatus>;

/** A field that is wrong, by JSON pointer. */
export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** An error as RFC 9457 puts it. Never a stack, a statement or a path. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
}

export function problem(code: ErrorCode, detail: string, errors?: readonly FieldProblem[]): Problem {
  return {
    type: `urn:reveille:problem:${code}`,
    title: code.replaceAll('_', ' '),
    status: STATUS_OF[code],
    code,
    detail,
    ...(errors === undefined ? {} : { errors }),
  };
}
