import type { Abstract, INestApplicationContext, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { fastifyAdapter, serveDocs } from '../../src/http/server.js';
import { ReveilleModule, type ReveilleModuleOptions } from '../../src/reveille.module.js';
import { FakeClock } from '../../src/testing.js';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { type DatabaseName, type TestDatabase, freshDatabase } from './databases.js';

/** The administrator's token in every test that speaks HTTP. */
export const ADMIN_TOKEN = 'an-administrators-token-for-tests-only';

/** A running Reveille with a database and a clock of its own. */
export class TestReveille {
  private constructor(
    readonly app: INestApplicationContext,
    readonly clock: FakeClock,
    private readonly database: TestDatabase,
  ) {}

  /** Without HTTP, for tests of what stands below it. */
  static async start(
    name: DatabaseName,
    options: ReveilleModuleOptions = {},
    adjust = asIs,
  ): Promise<TestReveille> {
    const { builder, clock, database } = await prepare(name, options);
    const module = await adjust(builder).compile();
    return standing(new TestReveille(await module.init(), clock, database));
  }

  /** With HTTP, for tests through supertest. */
  static async serve(
    name: DatabaseName,
    options: ReveilleModuleOptions = {},
    adjust = asIs,
  ): Promise<TestReveille> {
    const { builder, clock, database } = await prepare(name, {
      http: true,
      adminToken: ADMIN_TOKEN,
      ...options,
    });
    const module = await adjust(builder).compile();
    const app = module.createNestApplication<NestFastifyApplication>(fastifyAdapter());
    serveDocs(app);
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    return standing(new TestReveille(app, clock, database));
  }

  get<T>(type: Type<T> | Abstract<T>): T {
    return this.app.get<T>(type, { strict: false });
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.database.drop();
  }
}

/** A Reveille for the tests of the enclosing describe block, started before them and stopped after. */
export function useReveille(start: () => Promise<TestReveille>): () => TestReveille {
  let running: TestReveille | undefined;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(async () => {
    await running?.stop();
  });
  return () => {
    if (running === undefined) throw new Error('Reveille runs only inside the tests.');
    return running;
  };
}

/** Sweeps go by real time and judge by the test's: here they come only when a test asks for one. */
async function standing(reveille: TestReveille): Promise<TestReveille> {
  const sweeps = reveille.get(Sweeps);
  sweeps.onModuleDestroy();
  await sweeps.beforeApplicationShutdown();
  return reveille;
}

async function prepare(name: DatabaseName, options: ReveilleModuleOptions) {
  const database = await freshDatabase(name);
  const clock = new FakeClock();
  const imports = [ReveilleModule.forRoot({ databaseUrl: database.url, clock, ...options })];
  return { builder: Test.createTestingModule({ imports }), clock, database };
}

function asIs(builder: TestingModuleBuilder): TestingModuleBuilder {
  return builder;
}
