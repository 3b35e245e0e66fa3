import { ReveilleError } from '../errors/reveille-error.js';

/** Somebody has pressed the workspace's kill switch. */
export class WorkspacePausedError extends ReveilleError {
  readonly code = 'workspace_paused';

  constructor() {
    super('The workspace is paused.');
  }
}

/** Nobody can tell whether the workspace is paused; a kill switch that fails open is none, so nothing passes. */
export class PauseGateUnavailableError extends ReveilleError {
  readonly code = 'pause_gate_unavailable';

  constructor(options: ErrorOptions) {
    super('It cannot be told whether the workspace is paused.', options);
  }
}
