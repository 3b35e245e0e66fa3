import { Injectable } from '@nestjs/common';
import type { Actor } from '../../auth/principal.js';
import { parseObject } from '../../runs/run-payload.js';
import { BlockersRepository } from '../../tasks/blockers.repository.js';
import type { Task } from '../../tasks/task.schema.js';
import { isClosed } from '../../tasks/task-status.js';
import { TasksRepository } from '../../tasks/tasks.repository.js';
import { blockersResolvedKey, childrenCompletedKey } from '../dedup-keys.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { runContext } from '../run-context.js';
import type { CascadeNote, CascadeReason } from './note.schema.js';

/** A wake, and the task that it is about. */
export interface CascadedWake {
  readonly task: Task;
  readonly wake: ProducedWake;
}

/** Finds whom the end of a task wakes: those who waited for it, and whoever it was a part of the work of. */
@Injectable()
export class Cascades {
  constructor(
    private readonly tasks: TasksRepository,
    private readonly blockers: BlockersRepository,
  ) {}

  /** @throws what a failed read throws: a set that cannot be read is not an empty one. */
  async wakesOf({ reason, taskId, payload }: CascadeNote): Promise<readonly CascadedWake[]> {
    const actor = actorIn(payload);
    switch (reason) {
      case 'task_blockers_resolved':
        return this.ofResolvedBlockers(taskId, actor);
      case 'task_children_completed':
        return this.ofCompletedChildren(taskId, actor);
    }
  }

  private async ofResolvedBlockers(blockerId: string, actor: Actor): Promise<readonly CascadedWake[]> {
    const wakes: CascadedWake[] = [];
    for (const task of await this.blockers.blockedBy(blockerId)) {
      const assignee = assigneeToWake(task);
      if (assignee === null) continue;
      const blockers = await this.blockersOf(task);
      // The last one may have been taken away since: nothing was resolved then, and every empty set has the same digest.
      if (blockers.length === 0 || !blockers.every(isClosed)) continue;
      const key = blockersResolvedKey(task.id, assignee, idsOf(blockers));
      const detail = { resolved_blocker_task_id: blockerId };
      wakes.push({ task, wake: wakeFor(assignee, 'task_blockers_resolved', { task, actor, detail, key }) });
    }
    return wakes;
  }

  private async blockersOf(task: Task): Promise<readonly Task[]> {
    try {
      return await this.blockers.blockersOf(task.id);
    } catch (cause) {
      throw new Error(`What task ${task.id} waits for could not be read.`, { cause });
    }
  }

  private async ofCompletedChildren(childId: string, actor: Actor): Promise<readonly CascadedWake[]> {
    const parentId = (await this.tasks.find(childId))?.parentId ?? null;
    const task = parentId === null ? null : await this.tasks.find(parentId);
    const assignee = task === null ? null : assigneeToWake(task);
    if (task === null || assignee === null) return [];
    const children = await this.tasks.childrenOf(task.id);
    if (!children.every(isClosed)) return [];
    const key = childrenCompletedKey(task.id, assignee, idsOf(children));
    const detail = { child_task_id: childId };
    return [{ task, wake: wakeFor(assignee, 'task_children_completed', { task, actor, detail, key }) }];
  }
}

/** Nobody waits for anything about a task that is closed. */
function assigneeToWake(task: Task): string | null {
  return isClosed(task) ? null : task.assigneeAgentProfileId;
}

function idsOf(tasks: readonly Task[]): readonly string[] {
  return tasks.map(({ id }) => id);
}

function wakeFor(
  agentProfileId: string,
  reason: CascadeReason,
  {
    task,
    actor,
    detail,
    key,
  }: Pick<CascadedWake, 'task'> & {
    readonly actor: Actor;
    readonly detail: Parameters<typeof runContext>[3];
    readonly key: string;
  },
): ProducedWake {
  return { agentProfileId, reason, payload: runContext(reason, task, actor, detail), key };
}

/** Who finished the task, as the note that tells of it says. */
function actorIn(payload: string): Actor {
  const { actor_type: type, actor_id: id } = parseObject(payload) ?? {};
  return { type: type === 'agent' ? 'agent' : 'user', id: typeof id === 'string' ? id : '' };
}
