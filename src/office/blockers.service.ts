import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { Dialect } from '../database/dialect.js';
import { Transactions } from '../database/transactions.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { BlockersRepository } from '../tasks/blockers.repository.js';
import type { TaskBlocker } from '../tasks/task-blocker.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { BlockerCycleError } from './office.errors.js';

/** Which tasks wait for which. */
@Injectable()
export class BlockersService {
  constructor(
    private readonly transactions: Transactions,
    private readonly dialect: Dialect,
    private readonly tasks: TasksRepository,
    private readonly blockers: BlockersRepository,
    private readonly clock: Clock,
  ) {}

  /** What the task waits for. */
  list(taskId: string): Promise<readonly TaskBlocker[]> {
    return this.blockers.ofTask(taskId);
  }

  /**
   * Lets the task wait for another of its workspace. Again: answers the blocker that stands.
   *
   * @throws NotFoundError for an unknown task or blocker, BlockerCycleError when the task would wait for itself.
   */
  add(taskId: string, blockerTaskId: string): Promise<TaskBlocker> {
    return this.transactions.run(async () => {
      const workspaceId = await this.workspaceOf(taskId, 'task');
      if ((await this.workspaceOf(blockerTaskId, 'blocker')) !== workspaceId)
        throw new NotFoundError('blocker');
      // Two blockers added at once could close a circle that neither of them sees.
      await this.dialect.lock(this.transactions.writing(), [`blockers:${workspaceId}`]);
      const circle = await this.pathBetween(blockerTaskId, taskId);
      if (circle !== null) throw new BlockerCycleError([taskId, ...circle]);
      return this.blockers.add({ taskId, blockerTaskId, workspaceId, createdAt: this.clock.now() });
    });
  }

  /** Wakes nobody: only a blocker that gets done does. */
  async remove(taskId: string, blockerTaskId: string): Promise<void> {
    await this.transactions.run(() => this.blockers.remove(taskId, blockerTaskId));
  }

  private async workspaceOf(taskId: string, what: string): Promise<string> {
    const task = await this.tasks.find(taskId);
    if (task === null) throw new NotFoundError(what);
    return task.workspaceId;
  }

  /** The shortest chain of tasks, each waiting for the next, from one to the other; null when there is none. */
  private async pathBetween(from: string, to: string): Promise<readonly string[] | null> {
    const waitsFor = new Map<string, string[]>();
    for (const { taskId, blockerTaskId } of await this.blockers.allBehind(from))
      waitsFor.set(taskId, [...(waitsFor.get(taskId) ?? []), blockerTaskId]);
    const reachedFrom = new Map<string, string | null>([[from, null]]);
    // What is reached is added behind what it was reached from, so nearer tasks come first.
    for (const task of reachedFrom.keys()) {
      if (task === to) return trace(reachedFrom, to);
      for (const next of waitsFor.get(task) ?? []) if (!reachedFrom.has(next)) reachedFrom.set(next, task);
    }
    return null;
  }
}

/** The way back from where it was reached, turned round. */
function trace(reachedFrom: ReadonlyMap<string, string | null>, to: string): readonly string[] {
  const path: string[] = [];
  for (let at: string | null = to; at !== null; at = reachedFrom.get(at) ?? null) path.unshift(at);
  return path;
}
