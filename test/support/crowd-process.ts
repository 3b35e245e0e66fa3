import { AskedProcess } from './asked-process.js';

/** A pair that callers crowd around, and how often this process ends the session that refuses them. */
export interface CrowdedPair {
  readonly taskId: string;
  readonly agentProfileId: string;
  /** `once`: when all of its callers here have been refused or are served. `often`: at every refusal. */
  readonly ending: 'never' | 'once' | 'often';
}

/** What became of one caller. Instants are those of the machine, in microseconds, the same for all processes. */
export interface CrowdCall {
  readonly taskId: string;
  readonly agentProfileId: string;
  /** Its name is the executor that it asks for, so that a row says who has made it. */
  readonly caller: string;
  readonly began: number;
  readonly answered: number;
  /** How often it tried to create, and how often the guard refused. */
  readonly attempts: number;
  readonly refusals: number;
  /** Null for no answer at all. */
  readonly id: string | null;
  readonly created: boolean;
  /** The class and text of its error. */
  readonly error: string | null;
}

/** What one process has seen of a crowd. */
export interface CrowdReport {
  readonly calls: readonly CrowdCall[];
  /** The sessions that it has ended, between which instants. */
  readonly endings: readonly { readonly id: string; readonly began: number; readonly ended: number }[];
  /** Its metrics, as it publishes them. */
  readonly metrics: string;
}

/** Another process that serves the same database and has callers of its own. */
export class CrowdProcess {
  private constructor(
    private readonly name: string,
    private readonly process: AskedProcess,
  ) {}

  static async start(name: string, databaseUrl: string): Promise<CrowdProcess> {
    return new CrowdProcess(name, await AskedProcess.start('crowd-process.child.mjs', [databaseUrl]));
  }

  /** Has so many callers ask for the session of each pair, all at once. */
  crowd(callers: number, pairs: readonly CrowdedPair[]): Promise<CrowdReport> {
    return this.process.ask({ name: this.name, callers, pairs });
  }

  stop(): Promise<void> {
    return this.process.stop();
  }
}
