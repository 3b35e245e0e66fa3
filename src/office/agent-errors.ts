import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Agent } from '../agents/agent.schema.js';
import { AgentsRepository } from '../agents/agents.repository.js';
import { EventLog } from '../events/event-log.js';
import { FinalFailures } from '../runs/final-failures.js';
import type { Run } from '../runs/run.schema.js';
import { subjectOf } from '../runs/run-subject.js';
import { agentErrorKey } from './dedup-keys.js';
import type { ProducedWake } from './producers/produced-wake.js';
import { NoteBook } from './reactivity/note-book.js';
import { Reactivity } from './reactivity/reactivity.service.js';

/** Why nobody is woken for a run that has failed for good. */
type Unheard = 'no_coordinator' | 'coordinator_failed' | 'agent_error_failed';

/**
 * Lets the coordinator of a workspace know of runs that nobody will try again. The failing transaction writes down what
 * is owed, as a mutation does, and the wake is decided after its commit.
 */
@Injectable()
export class AgentErrors implements OnModuleInit {
  constructor(
    private readonly failures: FinalFailures,
    private readonly agents: AgentsRepository,
    private readonly book: NoteBook,
    private readonly reactivity: Reactivity,
    private readonly events: EventLog,
  ) {}

  onModuleInit(): void {
    this.failures.observe((run) => this.escalate(run));
  }

  private async escalate(run: Run): Promise<() => Promise<unknown>> {
    const coordinator = await this.agents.oldestRunnable(run.workspaceId, 'ceo');
    const unheard = whyUnheard(run, coordinator);
    if (coordinator === null || unheard !== null) {
      await this.tellOnly(run, unheard ?? 'no_coordinator');
      return () => Promise.resolve();
    }
    const subject = { id: taskOf(run), workspaceId: run.workspaceId, assignmentGeneration: 0 };
    const note = await this.book.writeOne(subject, wakeFor(coordinator.id, run));
    return () => this.reactivity.carryOut([note]);
  }

  private tellOnly(run: Run, reason: Unheard): Promise<void> {
    const { workspaceId, errorMessage } = run;
    const data = { reason, error: errorMessage };
    return this.events.append({ type: 'run.failure_unheard', workspaceId, subject: subjectOf(run), data });
  }
}

/**
 * A failure to hear of a failure wakes nobody: two coordinators that take turns in being the one would wake each other
 * for ever.
 */
function whyUnheard(run: Run, coordinator: Agent | null): Unheard | null {
  if (coordinator === null) return 'no_coordinator';
  if (coordinator.id === run.agentProfileId) return 'coordinator_failed';
  return run.reason === 'agent_error' ? 'agent_error_failed' : null;
}

/**
 * The payload names the task, so that the coordinator's turn is a part of its conversation about it, and nobody as the
 * actor: no agent chose this, and only assignments count for an allowance.
 */
function wakeFor(coordinator: string, run: Run): ProducedWake {
  return {
    agentProfileId: coordinator,
    reason: 'agent_error',
    payload: {
      reason: 'agent_error',
      task_id: taskOf(run),
      workspace_id: run.workspaceId,
      failed_run_id: run.id,
      failed_agent_profile_id: run.agentProfileId,
      error: run.errorMessage ?? '',
    },
    key: agentErrorKey(run.id, coordinator),
  };
}

/** The empty text for none: a wake without a task says so. */
function taskOf({ taskId }: Run): string {
  return taskId ?? '';
}
