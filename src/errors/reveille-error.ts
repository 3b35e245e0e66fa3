/** Every way in which a caller can be refused or fail, by the stable code that reaches it. */
export const ERROR_CODES = [
  'validation_failed',
  'unauthenticated',
  'forbidden',
  'not_found',
  'id_taken',
  'agent_not_runnable',
  'workspace_paused',
  'pause_gate_unavailable',
  'session_conflict',
  'illegal_transition',
  'claim_lost',
  'blocker_cycle',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'overloaded',
  'database_unavailable',
  'internal',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** An error that callers may branch on, by class or by code. Its message may be shown to them; its cause may not. */
export abstract class ReveilleError extends Error {
  abstract readonly code: ErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** What a caller is told beside code and message. */
  get members(): Readonly<Record<string, unknown>> {
    return {};
  }
}

/** Nothing of that id is there, or not for this caller. */
export class NotFoundError extends ReveilleError {
  readonly code = 'not_found';

  constructor(what: string) {
    super(`There is no such ${what}.`);
  }
}

/** A chosen id is already in use. */
export class IdTakenError extends ReveilleError {
  readonly code = 'id_taken';

  constructor(what: string, options?: ErrorOptions) {
    super(`That id is taken by another ${what}.`, options);
  }
}

/** The caller may see this but not do it. */
export class ForbiddenError extends ReveilleError {
  readonly code = 'forbidden';
}

/** The request is well-formed but contradicts what is stored, such as a reference to nothing. */
export class ValidationError extends ReveilleError {
  readonly code = 'validation_failed';
}

/** What is in that status or state cannot become what was asked of it. */
export class IllegalTransitionError extends ReveilleError {
  readonly code = 'illegal_transition';
}

/** More was sent than is read. */
export class PayloadTooLargeError extends ReveilleError {
  readonly code = 'payload_too_large';

  constructor() {
    super('That is more than is read.');
  }
}
