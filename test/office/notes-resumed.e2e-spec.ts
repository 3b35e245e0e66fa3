import { ModuleRef } from '@nestjs/core';
import { Sweeps } from '../../src/worker/sweeps.service.js';
import { WorkerModule } from '../../src/worker/worker.module.js';
import { onEachDatabase } from '../support/databases.js';
import { OfficeScene } from '../support/office-scene.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { until } from '../support/until.js';

/** Intervals stand still, and nothing else does. */
const WITHOUT_INTERVALS: Parameters<typeof jest.useFakeTimers>[0] = {
  doNotFake: [
    'Date',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'clearImmediate',
    'setTimeout',
    'clearTimeout',
  ],
};

onEachDatabase('a server that hears of a resume', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  let sweeps: Sweeps;

  /** Sweeps of the test's own, whose timer stands still: only a signal can make them look. */
  beforeAll(async () => {
    sweeps = await reveille().app.select(WorkerModule).get(ModuleRef, { strict: true }).create(Sweeps);
    jest.useFakeTimers(WITHOUT_INTERVALS);
    sweeps.onApplicationBootstrap();
    jest.useRealTimers();
  });
  afterAll(() => {
    sweeps.onModuleDestroy();
    return sweeps.beforeApplicationShutdown();
  });

  const runsOnceThere = (scene: OfficeScene) =>
    until('the wake has come', async () => {
      const runs = await scene.runs();
      return runs.length === 0 ? undefined : runs;
    });

  it('decides at once what the workspace’s pause has held back', async () => {
    const scene = await OfficeScene.open(reveille());
    await scene.pause();
    await scene.assign(scene.agent());
    await scene.resume();
    expect(await runsOnceThere(scene)).toMatchObject([{ agentProfileId: scene.agent(), coalescedCount: 1 }]);
  });

  it('decides at once what the agent’s pause has held back', async () => {
    const scene = await OfficeScene.open(reveille());
    await scene.setStatus(scene.agent(), 'paused');
    await scene.assign(scene.agent());
    await scene.setStatus(scene.agent(), 'idle');
    expect(await runsOnceThere(scene)).toMatchObject([{ agentProfileId: scene.agent(), coalescedCount: 1 }]);
  });
});
