import 'reflect-metadata';
import { Logger, type NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger as PinoLogger } from 'nestjs-pino';
import { AppModule } from './app.module.js';
import { InvalidEnvironmentError, type ServerSettings, readEnvironment } from './config/read-environment.js';
import { DatabaseInUseError } from './database/file-lock.js';
import { endConnectionsWhenDraining, fastifyAdapter, serveDocs } from './http/server.js';
import { ServerAddress } from './worker/server-address.js';

/** The exit code for bad settings, as sysexits has it. */
const BAD_SETTINGS = 78;

/** What goes wrong at the start is ours to explain, and nothing is logged before the logger is there. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares its options as a class but takes a plain object
const START: NestApplicationOptions = { bufferLogs: true, autoFlushLogs: false, abortOnError: false };

async function serve(settings: ServerSettings): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with(settings),
    fastifyAdapter(),
    START,
  );
  app.useLogger(app.get(PinoLogger));
  app.flushLogs();
  endConnectionsWhenDraining(app);
  serveDocs(app);
  stopOnSignal(app);
  await listen(app, settings);
  const url = await app.getUrl();
  app.get(ServerAddress).url = url;
  new Logger('Server').log({ url }, 'Reveille serves');
}

/** A server that cannot listen leaves nothing behind, such as the file of a private database. */
async function listen(app: NestFastifyApplication, { port, host }: ServerSettings): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Nest's own hooks would end the process by the signal; a server that has put everything in order exits with 0. */
function stopOnSignal(app: NestFastifyApplication): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        complain(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** What a person can mend is said plainly; anything else comes with its stack. */
function complain(error: unknown): void {
  const isPlain = error instanceof InvalidEnvironmentError || error instanceof DatabaseInUseError;
  process.stderr.write(`${isPlain ? error.message : ((error as Error).stack ?? String(error))}\n`);
}

async function main(): Promise<void> {
  try {
    await serve(readEnvironment());
  } catch (error) {
    complain(error);
    process.exit(error instanceof InvalidEnvironmentError ? BAD_SETTINGS : 1);
  }
}

void main();
