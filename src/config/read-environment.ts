import { z } from 'zod';
import { parseDatabaseUrl } from './database-url.js';
import { DEFAULT_OPTIONS, type ReveilleOptions } from './options.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The stand-alone server's settings: the library's options and what only a process has. */
export interface ServerSettings {
  readonly options: ReveilleOptions;
  readonly host: string;
  readonly port: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Bad settings, all of them at once, in words for the person who set them. */
export class InvalidEnvironmentError extends Error {
  constructor(readonly complaints: readonly string[]) {
    super(
      `Reveille cannot start with these settings:\n${complaints.map((line) => `  - ${line}`).join('\n')}`,
    );
  }
}

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be between ${least} and ${most}`);

const days = z
  .string()
  .regex(/^(off|[1-9]\d{0,4})$/, 'must be off, or a whole number of days from 1 to 99999')
  .transform((value) => (value === 'off' ? null : Number(value)));

const databaseUrl = z.string().superRefine((value, context) => {
  try {
    parseDatabaseUrl(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});

const environment = z.object({
  DATABASE_URL: databaseUrl.default(DEFAULT_OPTIONS.databaseUrl),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(3000),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  ADMIN_TOKEN: z.string().min(32, 'must have 32 characters or more').optional(),
  METRICS_TOKEN: z.string().min(1).optional(),
  WORKER: z.enum(['on', 'off']).default('on'),
  WORKER_CONCURRENCY: wholeNumber(1, 1000).default(DEFAULT_OPTIONS.workerConcurrency),
  AGENT_USER: z.string().min(1).optional(),
  DRAIN_SECONDS: wholeNumber(0, 3600).default(DEFAULT_OPTIONS.drainSeconds),
  RETENTION_DAYS: days.default(DEFAULT_OPTIONS.retentionDays),
});

/**
 * Reads the process's environment, the only place that does.
 *
 * @throws InvalidEnvironmentError naming every bad value.
 */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): ServerSettings {
  const parsed = environment.safeParse(source);
  if (!parsed.success) {
    throw new InvalidEnvironmentError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`),
    );
  }
  const env = parsed.data;
  return {
    host: env.HOST,
    port: env.PORT,
    logLevel: env.LOG_LEVEL,
    options: {
      ...DEFAULT_OPTIONS,
      databaseUrl: env.DATABASE_URL,
      http: true,
      worker: env.WORKER === 'on',
      workerConcurrency: env.WORKER_CONCURRENCY,
      baseUrl: `http://${env.HOST === '0.0.0.0' ? '127.0.0.1' : env.HOST}:${env.PORT}`,
      agentUser: env.AGENT_USER ?? null,
      adminToken: env.ADMIN_TOKEN ?? null,
      metricsToken: env.METRICS_TOKEN ?? null,
      drainSeconds: env.DRAIN_SECONDS,
      retentionDays: env.RETENTION_DAYS,
    },
  };
}

/** The values of the named variables of this process, for a child that is given those and no others. */
export function inherited(
  names: readonly string[],
  source: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const found = names.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]] as const]));
  return Object.fromEntries(found);
}
