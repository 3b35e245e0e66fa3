import { Transactions } from '../../src/database/transactions.js';
import { RECOVERY_LOOK_BACK_MS, UNTOUCHED_MS } from '../../src/office/recovery/recovery-limits.js';
import { RecoverySweep } from '../../src/office/recovery/recovery-sweep.js';
import { type Recovery, RecoverySchema } from '../../src/office/recovery/recovery.schema.js';
import { OfficeScene } from './office-scene.js';
import type { TestReveille } from './reveille.js';

/** An office with a task of its first agent that nothing has started, which has been left alone for long enough. */
export interface Forgotten {
  readonly scene: OfficeScene;
  readonly taskId: string;
}

/** Makes one on a day of its own: whatever other tests have left unstarted is too old to be recovered. */
export async function forgotten(reveille: TestReveille, input: object = {}): Promise<Forgotten> {
  const scene = await onANewDay(reveille);
  const taskId = await scene.createForgotten(input);
  reveille.clock.advance(UNTOUCHED_MS);
  return { scene, taskId };
}

export function onANewDay(reveille: TestReveille): Promise<OfficeScene> {
  reveille.clock.advance(RECOVERY_LOOK_BACK_MS);
  return OfficeScene.open(reveille);
}

/** Looks for unstarted tasks after so many milliseconds, and for nothing else. */
export function recover(reveille: TestReveille, milliseconds = 0): Promise<void> {
  reveille.clock.advance(milliseconds);
  return reveille.get(RecoverySweep).sweep();
}

/** The runs that wait about the task. */
export async function waiting({ scene, taskId }: Forgotten) {
  return (await scene.runs(taskId)).filter(({ status }) => status === 'queued');
}

/** Has whatever waits about the task come to that end, without anybody having claimed it. */
export async function end({ scene, taskId }: Forgotten, status: string): Promise<void> {
  await scene.sql(`UPDATE runs SET status = $1 WHERE task_id = $2 AND status = 'queued'`, [status, taskId]);
}

/** How often the task was recovered since which assignment, or null. */
export function countOf(reveille: TestReveille, { taskId }: Forgotten): Promise<Recovery | null> {
  return reveille.get(Transactions).reading().findOneBy(RecoverySchema, { taskId });
}
