import { toIso } from '../clock/iso.js';
import type { Agent } from './agent.schema.js';

/** An agent as it is shown outside; `working` is what an agent with a claimed run is doing. */
export function viewAgent(agent: Agent, isWorking: boolean) {
  return {
    id: agent.id,
    workspaceId: agent.workspaceId,
    name: agent.name,
    role: agent.role,
    status: isWorking && agent.status === 'idle' ? ('working' as const) : agent.status,
    canAssignTasks: agent.canAssignTasks,
    command: agent.command,
    executor: agent.executor,
    executionProfileId: agent.executionProfileId,
    permissionPolicy: agent.permissionPolicy,
    workingDirectory: agent.workingDirectory,
    env: agent.env,
    maxRunSeconds: agent.maxRunSeconds,
    createdAt: toIso(agent.createdAt),
    updatedAt: toIso(agent.updatedAt),
  };
}
