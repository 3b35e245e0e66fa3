import type { INestApplicationContext } from '@nestjs/common';
import type { Agent } from './agents/agent.schema.js';
import { type AgentInput, AgentsService } from './agents/agents.service.js';
import { Clock } from './clock/clock.js';
import { TasksService } from './office/tasks.service.js';
import type { Run } from './runs/run.schema.js';
import { RunsService } from './runs/runs.service.js';
import type { TaskInput } from './tasks/task-records.js';
import type { Task } from './tasks/task.schema.js';
import type { Workspace } from './workspaces/workspace.schema.js';
import { WorkspacesService } from './workspaces/workspaces.service.js';

/** A clock that stands still until it is told to move. It starts at the beginning of 2026. */
export class FakeClock extends Clock {
  private instant = Date.UTC(2026, 0, 1);

  now(): number {
    return this.instant;
  }

  /** Moves on by so many milliseconds. */
  advance(milliseconds: number): void {
    this.instant += milliseconds;
  }

  /** Moves to an instant, in milliseconds since 1970. */
  set(instant: number): void {
    this.instant = instant;
  }
}

/** Makes a workspace. */
export function aWorkspace(
  app: INestApplicationContext,
  input: { id?: string; name?: string } = {},
): Promise<Workspace> {
  return app.get(WorkspacesService, { strict: false }).create({ name: 'Office', ...input });
}

/** Makes an agent in a workspace. */
export function anAgent(
  app: INestApplicationContext,
  workspaceId: string,
  input: Partial<AgentInput> = {},
): Promise<Agent> {
  return app.get(AgentsService, { strict: false }).create({ name: 'Agent', ...input, workspaceId });
}

/** Makes an office task that nobody is assigned to, unless the input says otherwise. */
export async function aTask(
  app: INestApplicationContext,
  workspaceId: string,
  input: Partial<TaskInput> = {},
): Promise<Task> {
  const task = { title: 'Task', kind: 'office' as const, ...input, workspaceId };
  return (await app.get(TasksService, { strict: false }).create(task)).task;
}

/** The queued runs of a workspace, oldest first, at most 200. */
export async function queuedRuns(app: INestApplicationContext, workspaceId: string): Promise<readonly Run[]> {
  const runs = await app
    .get(RunsService, { strict: false })
    .list({ workspaceId, status: 'queued' }, null, 200);
  return [...runs].reverse();
}
