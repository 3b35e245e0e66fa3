/** Everything a running Reveille can be told. Complete: whoever holds one never asks for a default again. */
export interface ReveilleOptions {
  /** `sqlite:<file>`, `sqlite::memory:` (a private temporary file, gone at exit) or `postgres://…`. */
  readonly databaseUrl: string;
  /** Brings the schema up to date before anything reads it. */
  readonly migrate: boolean;
  /** Serves the HTTP API. */
  readonly http: boolean;
  /** Runs agents in this process. */
  readonly worker: boolean;
  /** How many agents this process runs at once. */
  readonly workerConcurrency: number;
  /** The account that agents run under; null runs them under the server's own. */
  readonly agentUser: string | null;
  /** Where this server's own agents reach it, for their `REVEILLE_URL`. */
  readonly baseUrl: string;
  /** The administrator's token; null has one generated at first start and written to {@link adminTokenFile}. */
  readonly adminToken: string | null;
  readonly adminTokenFile: string;
  /** The token that `/metrics` asks for; null leaves it open. */
  readonly metricsToken: string | null;
  /** How long a stopping server lets running agents finish, in seconds. */
  readonly drainSeconds: number;
  /**
   * How many days an ended run is kept, beside the newest 50 of each agent, which stay; null keeps all for ever. It says
   * nothing of events and decisions, which callers rely on to be kept seven days and which grow with every refusal.
   */
  readonly retentionDays: number | null;
}

/** What holds for everything that nobody said. */
export const DEFAULT_OPTIONS: ReveilleOptions = {
  databaseUrl: 'sqlite:./data/reveille.db',
  migrate: true,
  http: false,
  worker: false,
  workerConcurrency: 4,
  agentUser: null,
  baseUrl: 'http://127.0.0.1:3000',
  adminToken: null,
  adminTokenFile: './data/admin-token',
  metricsToken: null,
  drainSeconds: 10,
  retentionDays: 30,
};

/** The injection token of the {@link ReveilleOptions} in force. */
export const REVEILLE_OPTIONS = Symbol('REVEILLE_OPTIONS');
