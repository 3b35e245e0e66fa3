import type { ASSIGNMENT_PRODUCERS } from '../../src/office/producers/producers.js';
import { UNTOUCHED_MS } from '../../src/office/recovery/recovery-limits.js';
import { COALESCING_WINDOW_MS } from '../../src/scheduler/admission-limits.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import type { Api } from './api.js';
import type { OfficeScene } from './office-scene.js';
import { type Reaction } from './office-scene.js';
import { pick } from './pick.js';
import type { PlantedIds } from './planted-ids.js';
import type { TestReveille } from './reveille.js';
import { agentAssignment } from './wakes.js';

export type Producer = keyof typeof ASSIGNMENT_PRODUCERS;

/** A scene, and the id that the task is going to have about which its first agent is woken. */
export interface Stage {
  readonly reveille: TestReveille;
  readonly scene: OfficeScene;
  readonly ids: PlantedIds;
  readonly taskId: string;
}

/** What became of the wake that a producer was driven to. */
export type Produced = Pick<Reaction, 'outcome' | 'runId'>;

/** Has each producer wake the first agent about the task, the way it is done outside of tests. */
export const DRIVERS: Record<Producer, (stage: Stage) => Promise<Produced>> = {
  assignmentMutation: (stage) => assignBy(stage, stage.scene.office.user),

  async taskLifecycle({ scene, taskId }) {
    return pick((await scene.create({ id: taskId, assigneeAgentProfileId: scene.agent() })).reactions);
  },

  async onboarding({ scene, ids, taskId }) {
    const { user, workspaceId } = scene.office;
    ids.plant(taskId);
    const { body } = await user.post<{ reaction: Reaction }>(`/v1/workspaces/${workspaceId}/onboarding`, {
      agentProfileId: scene.agent(),
      title: 'Start here',
    });
    return body.reaction;
  },

  async recoverySweep({ scene, taskId }) {
    await scene.createForgotten({ id: taskId });
    await scene.sweep(UNTOUCHED_MS);
    const found = (await scene.runs(taskId)).find(({ status }) => status === 'queued');
    return { outcome: found === undefined ? 'none' : 'queued', runId: found?.id ?? null };
  },

  async workflowAutoStart({ scene, taskId }) {
    await scene.create({ id: taskId, kind: 'kanban', assigneeAgentProfileId: scene.agent() });
    const { body } = await scene.office.user.post<Reaction>(`/v1/tasks/${taskId}/auto-start`, {
      stepId: 'review',
      stepTransitionId: 7,
    });
    return body;
  },
};

export const PRODUCERS = Object.keys(DRIVERS) as readonly Producer[];

/** Drives the mutation by whoever has the token. */
export async function assignBy({ scene, taskId }: Stage, by: Api): Promise<Produced> {
  await scene.create({ id: taskId });
  return pick((await scene.assign(scene.agent(), { by, taskId })).reactions);
}

/** Has so many assignments of the task by an agent admitted, whose runs all fail, so that none of them is merged with. */
export async function spend({ reveille, scene, taskId }: Stage, count: number): Promise<void> {
  for (let spent = 0; spent < count; spent++) {
    expect(await askAsAgent(reveille, taskId, scene.agent(1))).toMatchObject({ outcome: 'queued' });
    await scene.sql(`UPDATE runs SET status = 'failed' WHERE task_id = $1 AND status = 'queued'`, [taskId]);
  }
}

/** Asks for one more assignment of the task by an agent, so late that no other run takes it in. */
export function askAsAgent(reveille: TestReveille, taskId: string, agentProfileId: string) {
  reveille.clock.advance(COALESCING_WINDOW_MS);
  const wake = { agentProfileId, reason: 'task_assigned', payload: agentAssignment(taskId) };
  return reveille.get(SchedulerService).queueRun(wake);
}
